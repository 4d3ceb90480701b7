// mjcf.h: parts of the MJCF loader. Public entry: tg_desc_load, tg_desc_load_memory.
//
// Passes: include files are merged into one tree; every element and attribute is checked against the schema (unknown,
// unsupported, malformed: the first in document order is reported); then defaults, assets, bodies and what refers to them.
#ifndef TG_IO_MJCF_H
#define TG_IO_MJCF_H

#include "io/file.h"
#include "io/names.h"
#include "io/xml.h"

enum { TGI_MJCF_KINDS = 8 };

/// Rigid pose: position and unit quaternion (w first).
typedef struct tgPlace { double pos[3], quat[4]; } tgPlace;

/// Actuator settings that an element may leave to its class.
typedef struct tgMjcfAct {
  const char *kind;                    ///< element that last set gain and bias, NULL: none
  int gain_affine, bias_affine;        ///< 0 fixed or none, 1 affine
  double gain[3], bias[3], gear[6];
  double ctrlrange[2], forcerange[2];
  int ctrllimited, forcelimited, actlimited;  ///< 0 false, 1 true, 2 auto
  tgActivation activation;
  double timeconst, actrange[2];
  double inheritrange;
} tgMjcfAct;

/// Default class: for each kind of element the attributes that hold in it, its own and those of its parents.
typedef struct tgMjcfClass {
  const char *name;
  int parent;
  const tgXmlNode *node;
  const tgXmlAttr *attr[TGI_MJCF_KINDS];
  tgMjcfAct act;
} tgMjcfClass;

typedef struct tgMjcf {
  tgDesc *desc;
  tgXml *xml;
  tgXmlNode *root;
  tgFileSet *files;
  const tgLoadOptions *options;
  tgError *error;
  tgNames *names;
  tgMjcfClass *cls;
  int ncls, capcls;
  bool radian, autolimits, strippath, exact_mesh;
  char eulerseq[4];
  const char *meshdir;
  bool no_contact, no_limit, no_frictionloss, no_equality, no_spring, no_damper, no_clampctrl;   ///< option/flag
  struct tgMjcfFile *file;             ///< the main file and those included
  int nfile;
  double (*colour)[4];                 ///< rgba of each material
  tgPlace *replica;                    ///< place of each copy that replicate elements make, in the frame around them
  int nreplica;
  const tgXmlNode *at;                 ///< the element being read, for messages about memory
  bool dropped;                        ///< something is left out that others may refer to or need
} tgMjcf;

/// An element with the attributes that its class supplies where it has none of its own.
typedef struct tgEl {
  const tgXmlNode *node;
  const tgXmlAttr *base;
} tgEl;

/// Loads the tree of a <mujoco> document into desc. main_file (NULL: from memory) tells an include that leads back to it;
/// files NULL: nothing may be read.
tgStatus tgi_mjcf_load(tgDesc *desc, tgXml *xml, tgXmlNode *root, const tgFile *main_file, tgFileSet *files,
                       const tgLoadOptions *options, tgError *error);

// mjcf_tree.c
/// Replaces every include element by the content of its file.
tgStatus tgi_mjcf_include(tgMjcf *m, const tgFile *main_file);
/// Directory, from the main file's, of the file that the element stands in; "" for the main file's own.
const char *tgi_mjcf_directory(const tgMjcf *m, const tgXmlNode *node);
/// Builds the classes of all default sections; class 0 is main.
tgStatus tgi_mjcf_defaults(tgMjcf *m);
/// Index of the class that an attribute names, or `fallback` when the attribute is absent.
tgStatus tgi_mjcf_class(tgMjcf *m, const tgXmlNode *node, const char *attribute, int fallback, int *index);
/// The element with what class `index` says about its kind.
tgEl tgi_mjcf_el(const tgMjcf *m, const tgXmlNode *node, const char *kind, int index);
/// Value of an attribute of the element or else of its class; NULL when neither has it.
const char *tgi_el_get(tgEl el, const char *name);
/// The attribute itself, for its place.
const tgXmlAttr *tgi_el_attr(tgEl el, const char *name);
/// Overwrites the first entries of value with the class's numbers, then with the element's own. Gives how many the
/// longer of the two has. (The schema pass has judged the text already.)
int tgi_el_numbers(tgEl el, const char *name, int max, double *value);
double tgi_el_number(tgEl el, const char *name, double absent);
int tgi_el_int(tgEl el, const char *name, int absent);
bool tgi_el_bool(tgEl el, const char *name, bool absent);
/// false 0, true 1, auto (and absent) 2.
int tgi_el_tri(tgEl el, const char *name);
/// Whether an attribute with range counts as limited: 0, 1, or an error when the range is empty or autolimits is off.
tgStatus tgi_mjcf_limited(const tgMjcf *m, tgEl el, const char *what, const char *range_name, int tri,
                          const double range[2], bool *limited);

// mjcf_replicate.c
/// Writes all replicate elements out; a copy is an element called replica whose kind is its index in m->replica.
tgStatus tgi_mjcf_replicate(tgMjcf *m);

// mjcf_schema.c
/// Checks every element and attribute; takes what the options leave out out of the tree and lists it.
tgStatus tgi_mjcf_schema(tgMjcf *m);
/// Kind index of an element of a default class (0 to TGI_MJCF_KINDS - 1), -1 when defaults do not concern it.
int tgi_mjcf_kind(const char *element);
/// Whether an attribute of that element is a list of numbers of which fewer than all may be given.
bool tgi_mjcf_partial(const char *element, const char *attribute);

// mjcf_pose.c
/// r = a b: b is given in a's frame.
tgPlace tgi_place_mul(tgPlace a, tgPlace b);
void tgi_place_rotate(double r[3], const double q[4], const double v[3]);
tgPlace tgi_place_inverse(tgPlace a);
/// pos and any orientation attribute; what is absent leaves *place as it is.
tgStatus tgi_mjcf_place(const tgMjcf *m, tgEl el, tgPlace *place);
/// Rotation of three angles in the file's unit and order.
void tgi_mjcf_euler(const tgMjcf *m, double q[4], const double angle[3]);
/// Quaternion that turns +z to v (not zero).
void tgi_quat_from_z(double q[4], const double v[3]);
/// Scales v to unit length; false when it is shorter than 1e-10.
bool tgi_unit(double *v, int n);

// mjcf_body.c, mjcf_mesh.c, mjcf_actuator.c, mjcf_link.c
tgStatus tgi_mjcf_bodies(tgMjcf *m);
tgStatus tgi_mjcf_mesh_names(tgMjcf *m);
tgStatus tgi_mjcf_meshes(tgMjcf *m);
/// Reads the file that an element names: below meshdir, or else below meshdir and the directory of the file that names it. why: what is
/// wrong.
tgStatus tgi_mjcf_mesh_file(tgMjcf *m, const tgXmlNode *node, tgMeshDesc *mesh, tgError *why);
/// The file's name without folders and extension.
const char *tgi_mjcf_stem(tgMjcf *m, const char *path);
// mjcf_hfield.c
/// Height fields, as meshes that are their convex cells: NAME/cell0, NAME/cell1, ...; the first is the name's index (TG_NAME_HFIELD).
tgStatus tgi_mjcf_hfields(tgMjcf *m);
/// Cells count as elements: an error where there are more than the options allow.
tgStatus tgi_mjcf_count_cells(tgMjcf *m, const tgXmlNode *node, int count);
tgStatus tgi_mjcf_tendons(tgMjcf *m);
tgStatus tgi_mjcf_actuators(tgMjcf *m);
tgStatus tgi_mjcf_act_default(tgMjcf *m, const tgXmlNode *node, tgMjcfAct *act);
tgMjcfAct tgi_mjcf_act_initial(void);
tgStatus tgi_mjcf_contacts(tgMjcf *m);
tgStatus tgi_mjcf_equalities(tgMjcf *m);
tgStatus tgi_mjcf_keys(tgMjcf *m);
// mjcf_sensor.c
tgStatus tgi_mjcf_sensors(tgMjcf *m);

// mjcf_flex.c
/// A flexcomp inside the body `parent`, in frames that stand at `frame` in it: its bodies, balls and sheet.
tgStatus tgi_mjcf_flexcomp(tgMjcf *m, const tgXmlNode *node, int parent, tgPlace frame);
/// All sheets of deformable sections; the bodies are there, geoms are not sorted yet.
tgStatus tgi_mjcf_flexes(tgMjcf *m);

// mjcf.c
/// Index of the element of that kind with that name; an error with a suggestion when there is none.
tgStatus tgi_mjcf_find(tgMjcf *m, const tgXmlNode *node, const char *attribute, tgNameKind kind, int *index);
/// The same, the attribute of the element's class where it has none itself.
tgStatus tgi_mjcf_find_el(tgMjcf *m, tgEl el, const char *attribute, tgNameKind kind, int *index);
/// Registers a name (NULL or "": none); an error when it is taken.
tgStatus tgi_mjcf_name(tgMjcf *m, const tgXmlNode *node, const char *name, tgNameKind kind, int index);
/// What lets a loader go on without something: a kind of tgDrop; or lenient, as it changes no motion; or nothing more, as it refers to what
/// was left out.
enum { TGI_LENIENT = -1, TGI_FOLLOWS = -2 };
/// TG_OK with a note where the options let it go on, else the error TG_ERR_UNSUPPORTED, or TG_ERR_PARSE for what is not MJCF at all, which
/// ends with the option that would. attr may be NULL.
tgStatus tgi_mjcf_unsupported(tgMjcf *m, int without, const tgXmlNode *node, const tgXmlAttr *attr, const char *format, ...)
    TG_PRINTF(5, 6);
tgStatus tgi_mjcf_unknown(tgMjcf *m, int without, const tgXmlNode *node, const tgXmlAttr *attr, const char *format, ...)
    TG_PRINTF(5, 6);
tgStatus tgi_mjcf_memory(const tgMjcf *m);
/// The name attribute, NULL when absent or empty.
const char *tgi_mjcf_own_name(const tgXmlNode *node);

#endif
