// urdf_parts.h: what the files of the URDF loader share (private to io/urdf*.c).
#ifndef TG_IO_URDF_PARTS_H
#define TG_IO_URDF_PARTS_H

#include "io/names.h"
#include "io/urdf.h"

typedef enum tgUrdfType {
  TG_URDF_REVOLUTE,
  TG_URDF_CONTINUOUS,
  TG_URDF_PRISMATIC,
  TG_URDF_FIXED,
  TG_URDF_FLOATING,
  TG_URDF_PLANAR,
  TG_URDF_SPHERICAL,
  TG_URDF_TYPES
} tgUrdfType;

typedef struct tgUrdfLink {
  const tgXmlNode *node;
  const char *name;
  int parent_joint;            // -1: root
  int first_child, last_child; // joints, in the order of the file; -1: none
  int body;                    // -1 until placed
  bool has_inertial;
  double mass, com[3], inertia[6];
} tgUrdfLink;

typedef struct tgUrdfJoint {
  const tgXmlNode *node;
  const char *name;
  tgUrdfType type;
  int parent, child; // links
  int next;          // sibling: next joint of the same parent
  int desc_joint;    // its (first) joint in the description, -1: none
} tgUrdfJoint;

typedef struct tgUrdf {
  tgDesc *desc;
  const tgXml *xml;
  tgFileSet *files;
  tgLoadOptions options;
  tgError *error;
  tgNames *names;
  tgAllocator alloc;
  tgUrdfLink *link;
  tgUrdfJoint *joint;
  int nlink, njoint;
  // collision meshes that cannot be read: the first one's place, and all of them in words
  const tgXmlNode *unreadable;
  const tgXmlNode *at;             // the element being read, for messages about memory
  tgStatus unreadable_status;
  int nunreadable;
  char unreadable_text[460];
  // where packages were found: names and roots; the model's own directory, "" when it has none
  const char *package[64];
  int package_root[64], npackage;
  char directory[4096];
  bool have_roots;
} tgUrdf;

/// What may stand in an element, words separated by spaces (NULL: none). `skip` elements and `skip_attr` have no effect
/// on physics here and are noted; `soft` ones are settings without counterpart.
typedef struct tgUrdfSpec {
  const char *attr, *skip_attr, *child, *skip, *soft;
  bool cosmetic; // unknown things in it are noted, not refused
} tgUrdfSpec;
/// Checks an element's attributes and children. Unknown: TG_ERR_PARSE with the nearest known word (lenient: a note, as
/// other readers of URDF pass over it).
tgStatus tgi_urdf_check(tgUrdf *u, const tgXmlNode *node, const tgUrdfSpec *spec);
/// The only child of that name, NULL when there is none; two are an error.
tgStatus tgi_urdf_only(tgUrdf *u, const tgXmlNode *node, const char *name, const tgXmlNode **child);

tgStatus tgi_urdf_memory(tgUrdf *u);
tgStatus tgi_urdf_note(tgUrdf *u, tgNoteKind kind, const tgXmlNode *node, const char *format, ...) TG_PRINTF(4, 5);
/// A number that must be there.
tgStatus tgi_urdf_number(tgUrdf *u, const tgXmlNode *node, const char *attr, double *value);
/// A number with a default.
tgStatus tgi_urdf_optional(tgUrdf *u, const tgXmlNode *node, const char *attr, double absent, double *value);
/// <origin xyz rpy> of an element: R = Rz(yaw) Ry(pitch) Rx(roll). The identity when absent.
tgStatus tgi_urdf_origin(tgUrdf *u, const tgXmlNode *node, double pos[3], double quat[4]);

/// <inertial> of a link into link->mass, com, inertia (body axes).
tgStatus tgi_urdf_inertial(tgUrdf *u, tgUrdfLink *link);
/// Visual and collision geoms of a placed link.
tgStatus tgi_urdf_geoms(tgUrdf *u, const tgUrdfLink *link);
/// The joint of a placed child body.
tgStatus tgi_urdf_joint(tgUrdf *u, tgUrdfJoint *joint, int body);
/// Motors of all joints in tree order, and the equalities of mimic.
tgStatus tgi_urdf_motors(tgUrdf *u);
tgStatus tgi_urdf_mimics(tgUrdf *u);

/// Index in desc of the mesh at `uri`. physical: its failure is kept for the one error that names all; else it is a
/// warning and the mesh is marked missing.
tgStatus tgi_urdf_mesh(tgUrdf *u, const tgXmlNode *node, const char *uri, const double scale[3], bool physical,
                       int *mesh);
/// The kept failures as one error.
tgStatus tgi_urdf_unreadable(tgUrdf *u);

#endif
