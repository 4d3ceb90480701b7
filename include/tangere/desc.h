// desc.h: what a model file says, as editable structs. Loaders fill it; a program may fill it too.
//
// Everything is resolved: radians, metres, unit quaternions (w first), defaults and frames applied.
// Strings and arrays handed in are copied; what a desc holds belongs to it until tg_desc_free.
// An added element's pointer is valid until the next element of its kind is added; its index stays.
#ifndef TANGERE_DESC_H
#define TANGERE_DESC_H

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tgJointType { TG_JOINT_FREE, TG_JOINT_BALL, TG_JOINT_SLIDE, TG_JOINT_HINGE } tgJointType;  ///< Kinds of joints.
typedef enum tgGeomType {  ///< Shapes of geoms, each with its axis along z.
  TG_GEOM_PLANE, TG_GEOM_SPHERE, TG_GEOM_CAPSULE, TG_GEOM_ELLIPSOID, TG_GEOM_CYLINDER, TG_GEOM_BOX, TG_GEOM_MESH  ///< sizes: see tgGeomDesc
} tgGeomType;
typedef enum tgEqualityType { TG_EQ_CONNECT, TG_EQ_WELD, TG_EQ_JOINT, TG_EQ_TENDON } tgEqualityType;  ///< What an equality holds together.
typedef enum tgTransmission { TG_TRN_JOINT, TG_TRN_TENDON, TG_TRN_SITE } tgTransmission;  ///< What an actuator pulls at.
/// How the activation a of an actuator follows its control u, at a time constant tau. TG_ACT_NONE: the actuator has none.
typedef enum tgActivation {
  TG_ACT_NONE,             ///< none: the control itself acts
  TG_ACT_INTEGRATOR,       ///< da/dt = u:             a' = a + h u
  TG_ACT_FILTER,           ///< da/dt = (u - a)/tau:   a' = a + h (u - a)/tau
  TG_ACT_FILTER_EXACT      ///< the same, integrated exactly under a control held over the step: a' = a + (u - a) (1 - exp(-h/tau))
} tgActivation;
typedef enum tgLimited { TG_LIMITED_NO, TG_LIMITED_YES } tgLimited;  ///< Whether a range is a limit.
/// What a sensor reads, by MJCF's words and in MuJoCo's units and frames (docs/sensors.md). Those to TG_SENSOR_FRAMEANGACC are functions
/// of state, controls and accelerations, the others of what pushed in a step. Frames are told in the world or in a reference frame.
typedef enum tgSensorType {
  TG_SENSOR_JOINTPOS, TG_SENSOR_JOINTVEL, TG_SENSOR_JOINTLIMITPOS, TG_SENSOR_JOINTLIMITVEL, TG_SENSOR_JOINTACTUATORFRC,  ///< of a
  TG_SENSOR_BALLQUAT, TG_SENSOR_BALLANGVEL,                                                 ///< joint, of a ball joint
  TG_SENSOR_TENDONPOS, TG_SENSOR_TENDONVEL, TG_SENSOR_TENDONLIMITPOS, TG_SENSOR_TENDONLIMITVEL, TG_SENSOR_TENDONACTUATORFRC,  ///< of
  TG_SENSOR_ACTUATORPOS, TG_SENSOR_ACTUATORVEL, TG_SENSOR_ACTUATORFRC,                      ///< a tendon, an actuator
  TG_SENSOR_ACCELEROMETER, TG_SENSOR_VELOCIMETER, TG_SENSOR_GYRO,                           ///< of a site
  TG_SENSOR_SUBTREECOM, TG_SENSOR_SUBTREELINVEL, TG_SENSOR_SUBTREEANGMOM,                   ///< of a body and all it carries
  TG_SENSOR_FRAMEPOS, TG_SENSOR_FRAMEQUAT, TG_SENSOR_FRAMEXAXIS, TG_SENSOR_FRAMEYAXIS, TG_SENSOR_FRAMEZAXIS,  ///< of a frame
  TG_SENSOR_FRAMELINVEL, TG_SENSOR_FRAMEANGVEL, TG_SENSOR_FRAMELINACC, TG_SENSOR_FRAMEANGACC, ///< likewise
  TG_SENSOR_TOUCH, TG_SENSOR_FORCE, TG_SENSOR_TORQUE,                                       ///< of a site, in the last step
  TG_SENSOR_COUNT                  ///< how many kinds there are
} tgSensorType;
/// Whose frame a sensor reads. TG_FRAME_COM: at the centre of mass of a body, and only what needs no axes of it.
typedef enum tgFrameKind { TG_FRAME_NONE, TG_FRAME_COM, TG_FRAME_BODY, TG_FRAME_GEOM, TG_FRAME_SITE } tgFrameKind;
/// compiler/inertiafromgeom
typedef enum tgInertiaFrom { TG_INERTIA_FROM_AUTO, TG_INERTIA_FROM_FILE, TG_INERTIA_FROM_GEOM } tgInertiaFrom;

/// Where an element came from, for messages. file is an index into tgDesc.files, -1 when built in code.
typedef struct tgSource { int file, line, column; } tgSource;

/// Body. Element 0 is the world. Parents come before children.
typedef struct tgBodyDesc {
  const char *name;                ///< may be NULL
  int parent;                      ///< index of the parent body, -1 for the world
  double pos[3], quat[4];          ///< in the parent body's frame
  bool has_inertial;               ///< false: from geoms
  double mass;                     ///< kg
  double com[3];                   ///< in the body frame
  double inertia[6];               ///< about com in body axes: xx yy zz xy xz yz [kg m^2]
  double gravcomp;                 ///< fraction of weight compensated
  tgSource source;                 ///< where it is written
} tgBodyDesc;

typedef struct tgJointDesc {  ///< Joint of a body to its parent.
  const char *name;                ///< may be NULL
  int body;                        ///< index of the body that it moves
  tgJointType type;                ///< its kind
  double pos[3], axis[3];          ///< in the body frame
  double ref;                      ///< joint coordinate of the pose that the file draws [rad or m]
  tgLimited limited;               ///< whether range is a limit
  double range[2];                 ///< hinge, slide: lower, upper; ball: range[1] is the largest angle
  double damping, stiffness, springref, armature, frictionloss;  ///< per speed; per displacement from springref; added
                                                                 ///< inertia; dry friction
  double springdamper[2];          ///< time constant [s] and damping ratio; 0 0: none. Stiffness and damping of the joint are then
                                   ///< made of its inertia 1/(M^-1)_dd at qpos0 (means over its dofs), as in MuJoCo
  double actfrcrange[2];           ///< limits of the summed actuator force, used when actfrclimited; hinge and slide only
  tgLimited actfrclimited;         ///< whether actfrcrange is a limit
  tgSource source;                 ///< where it is written
} tgJointDesc;

typedef struct tgGeomDesc {  ///< Shape fixed to a body: what touches, weighs and is drawn.
  const char *name;                ///< may be NULL
  int body;                        ///< index of the body that it is fixed to
  tgGeomType type;                 ///< its shape
  double size[3];                  ///< MuJoCo's: radius / half lengths; plane: half extents for drawing only
  double pos[3], quat[4];          ///< in the body frame
  int mesh;                        ///< index of the mesh, -1 unless type is mesh
  double mass;                     ///< NaN: use density
  double density;                  ///< kg/m^3
  double friction[3];              ///< sliding; torsional and rolling [m], of condim 4 and 6
  double restitution;              ///< 0..1
  int contype, conaffinity;        ///< two geoms may touch when a bit of one's contype is in the other's conaffinity
  int condim;                      ///< 1: no friction, 3: along two axes, 4: and about the normal, 6: and about the two axes
  int priority, group;             ///< the higher priority's friction and condim count; group: for drawing and inertiagrouprange
  bool shell;                      ///< inertia of the surface, not of the volume
  float rgba[4];                   ///< colour, 0..1, for drawing
  bool visual_only;                ///< URDF visual: drawn, never touches
  int flex;                        ///< index of the sheet of which it is a vertex, -1: none; vertices of sheets do not touch each other
  tgSource source;                 ///< where it is written
} tgGeomDesc;

typedef struct tgSiteDesc {  ///< Named frame fixed to a body.
  const char *name;                ///< may be NULL
  int body;                        ///< index of the body that it is fixed to
  double pos[3], quat[4];          ///< in the body frame
  tgGeomType type;                 ///< its shape: sphere, capsule, ellipsoid, cylinder or box
  double size[3];                  ///< of that, for touch sensors
  tgSource source;                 ///< where it is written
} tgSiteDesc;

/// Triangles in the mesh frame: the file's own, scaled, moved by refpos and refquat. Not re-centred.
typedef struct tgMeshDesc {
  const char *name, *path;         ///< path: as the model file has it
  const char *file;                ///< the file that it was read from, NULL: none
  double *vert; int nvert;         ///< 3 nvert
  int *face; int nface;            ///< 3 nface, counter-clockwise from outside
  double scale[3];                 ///< already applied to vert
  double refpos[3], refquat[4];    ///< already applied to vert (the mesh keeps the frame of its file: it is not re-centred)
  int inertia_kind;                ///< 0 exact volume (signed), 1 shell, 2 convex hull, 3 legacy (unsigned volumes)
  bool missing;                    ///< visual mesh that could not be read: drawn as nothing, a warning says so
  tgSource source;                 ///< where it is written
} tgMeshDesc;

/// Actuator: force = gain u + bias0 + bias1 length + bias2 velocity, gain = gain0 + gain1 length + gain2 velocity. With an
/// activation a that stands in the place of u, at its value at the start of the step, and u drives a.
typedef struct tgActuatorDesc {
  const char *name;                ///< may be NULL
  tgTransmission transmission;     ///< what it pulls at
  int target;                      ///< joint, tendon or site index
  int refsite;                     ///< of a site: the site in whose axes its gear is and against which it pushes, -1: its own axes
  double gear[6];                  ///< hinge, slide, tendon: gear[0]; ball: 3, body frame; free: force (world), torque (body); site:
                                   ///< force and torque at it
  double gain[3], bias[3];         ///< constant, per length, per velocity
  double dampratio;                ///< 0: none; else bias[2] becomes -2 dampratio sqrt(gain[0]/(J M^-1 J')), J the moment at qpos0
  bool ctrllimited, forcelimited;  ///< whether the ranges below are limits
  double ctrlrange[2], forcerange[2];  ///< lower, upper: of the control; of the force [N or N m]
  tgActivation activation;         ///< what it has of one
  double timeconst;                ///< tau of a filter [s]
  bool actlimited;                 ///< whether actrange is a limit
  double actrange[2];              ///< lower, upper: of the activation after a step
  tgSource source;                 ///< where it is written
} tgActuatorDesc;

/// Fixed tendon: length = sum coef[i] q(joint[i]). Spatial tendon: the sum of the straight ways from each site to the next, each way over
/// the divisor of the pulley before it (1: none).
typedef struct tgTendonDesc {
  const char *name;                ///< may be NULL
  int *joint; double *coef; int njoint;  ///< fixed: njoint joints and their coefficients
  int *site; double *divisor; int npath;  ///< spatial: npath sites in order; -1: a pulley, where another branch begins, with its divisor
  tgLimited limited;               ///< whether range is a limit
  double range[2], stiffness, damping, frictionloss;  ///< of the length; per length; per speed; dry friction
  double springlength[2];          ///< no spring force between these lengths; -1, -1: the length with the joints at springref
  double armature;                 ///< must be 0: put armature on the joints
  tgSource source;                 ///< where it is written
} tgTendonDesc;

typedef struct tgEqualityDesc {  ///< What always holds between two bodies, two joints or two tendons.
  const char *name;                ///< may be NULL
  tgEqualityType type;             ///< its kind
  bool active;                     ///< false: kept, does not act
  int a, b;                        ///< bodies, joints or tendons (these two: b -1 for a constant); connect and weld: b may be the world
  double anchor[3];                ///< connect: in a's frame; weld: in b's frame
  bool has_anchor2;                ///< connect: anchor2 is given; false: the point of b that is at the anchor in the drawn pose
  double anchor2[3];               ///< connect: in b's frame
  double relpos[3], relquat[4];    ///< weld: pose of b in a
  bool relpose_from_qpos0;         ///< weld: take relpose from the drawn pose
  double polycoef[5];              ///< joint, tendon: xa - xa0 = sum polycoef[k] (xb - xb0)^k, coordinates or lengths, x0 at qpos0
  double torquescale;              ///< weld: kept, not used, all six rows hold
  tgSource source;                 ///< where it is written
} tgEqualityDesc;

typedef struct tgPairDesc {  ///< Two geoms that may touch whatever their masks say, with numbers of their own.
  const char *name;                ///< may be NULL
  int geom1, geom2, condim;        ///< condim as in tgGeomDesc
  double friction[5];              ///< two sliding, torsional, two rolling [m]; NaN: from the geoms
  double restitution;              ///< NaN: from the geoms
  tgSource source;                 ///< where it is written
} tgPairDesc;

/// Sensor: numbers of the state that are told on request (tangere/sensor.h). It changes no motion.
typedef struct tgSensorDesc {
  const char *name;                ///< may be NULL
  tgSensorType type;               ///< what it reads
  int object;                      ///< joint, tendon, actuator, site or body of which it is; of a frame, what `frame` says
  tgFrameKind frame;               ///< of sensors of frames, whose frame; of others TG_FRAME_NONE
  tgFrameKind ref_frame;           ///< TG_FRAME_NONE: read in the world
  int ref;                         ///< whose frame it is read in
  double cutoff;                   ///< above 0: values are kept between -cutoff and cutoff; axes and quaternions are not
  tgSource source;                 ///< where it is written
} tgSensorDesc;

/// Thin sheet, cloth: triangles between vertices that are fixed to bodies. A vertex that moves by itself is a body of its own with
/// three slides. The sheet weighs nothing and touches nothing: its bodies and their geoms do.
typedef struct tgFlexDesc {
  const char *name;                ///< may be NULL
  int *body; double *pos; int nvert;  ///< nvert: body of each vertex; 3 nvert: where in its frame; no stress in the drawn pose
  int *elem; int nelem;            ///< 3 nelem: vertices of the triangles
  double young, poisson;           ///< Young's modulus [Pa]; Poisson's ratio, between -1 and 0.5
  double thickness;                ///< [m]
  double damping;                  ///< stress per rate of strain over stress per strain [s]
  bool stretch, bend;              ///< whether triangles resist strain, and the edges between two of them bending
  float rgba[4];                   ///< colour, 0..1, for drawing
  tgSource source;                 ///< where it is written
} tgFlexDesc;

typedef struct tgExcludeDesc { int body1, body2; tgSource source; } tgExcludeDesc;  ///< Bodies, by index, that do not touch.

/// Keyframe; an empty array means the default pose, zero velocity, zero activation, zero control.
typedef struct tgKeyDesc {
  const char *name;                ///< may be NULL
  double *qpos, *qvel, *ctrl; int nqpos, nqvel, nctrl;  ///< the state and the lengths of its arrays
  double *act; int nact;           ///< activations of the actuators that have one, in their order; tg_desc_key_activations
  tgSource source;                 ///< where it is written
} tgKeyDesc;

typedef struct tgOptionDesc {  ///< The world: step size, gravity, medium.
  double timestep, gravity[3], density, viscosity, wind[3];  ///< [s]; [m/s^2]; [kg/m^3]; [Pa s]; of the medium [m/s]
} tgOptionDesc;

typedef struct tgCompilerDesc {  ///< How bodies get their inertias.
  tgInertiaFrom inertiafromgeom;   ///< whence inertias come
  int inertiagrouprange[2];        ///< geom groups that give mass: first, last
  bool balanceinertia;             ///< principal moments that no body can have become their mean, with a note
  double boundmass, boundinertia;  ///< least mass [kg] and principal moment [kg m^2] of every body; 0: none
  double settotalmass;             ///< all masses and inertias are scaled to this total [kg]; <= 0: off
} tgCompilerDesc;

typedef enum tgNoteKind {  ///< Kinds of notes.
  TG_NOTE_SKIPPED,                 ///< no effect on physics
  TG_NOTE_SOFT,                    ///< MuJoCo's soft-constraint and solver settings: no counterpart here
  TG_NOTE_WARNING,                 ///< something was changed or assumed; the text says what
  TG_NOTE_LENIENT,                 ///< would have been an error without lenient; it changes no motion
  TG_NOTE_DROPPED                  ///< changes motion, and was left out because the options' drop says so
} tgNoteKind;
typedef struct tgNote { tgNoteKind kind; const char *text; tgSource source; } tgNote;  ///< What a loader ignored, mended or assumed.

/// The whole description. Arrays are read directly and grown through tg_desc_add_*.
typedef struct tgDesc {
  const char *name;                ///< of the model
  tgOptionDesc option;             ///< the world
  tgCompilerDesc compiler;         ///< how inertias are found
  tgBodyDesc *body; int nbody;     ///< bodies, the world first
  tgJointDesc *joint; int njoint;  ///< joints
  tgGeomDesc *geom; int ngeom;     ///< geoms
  tgSiteDesc *site; int nsite;     ///< sites
  tgMeshDesc *mesh; int nmesh;     ///< meshes
  tgActuatorDesc *actuator; int nactuator;  ///< actuators
  tgTendonDesc *tendon; int ntendon;  ///< tendons
  tgEqualityDesc *equality; int nequality;  ///< equalities
  tgPairDesc *pair; int npair;     ///< pairs with numbers of their own
  tgExcludeDesc *exclude; int nexclude;  ///< bodies that do not touch
  tgKeyDesc *key; int nkey;        ///< keyframes
  tgFlexDesc *flex; int nflex;     ///< sheets
  tgSensorDesc *sensor; int nsensor;  ///< sensors
  tgNote *note; int nnote;         ///< notes
  const char **file; int nfile;    ///< files that tgSource.file counts
  struct tgDescPool *pool;         ///< private
} tgDesc;

/// A desc with only the world body, MuJoCo's defaults (gravity 0 0 -9.81, timestep 0.002). NULL: no memory.
TG_API tgDesc *tg_desc_create(const tgAllocator *allocator);
TG_API void tg_desc_free(tgDesc *desc);

/// Each adds one element with MuJoCo's defaults and returns its index, or -1 when memory is short.
/// name may be NULL. Fill the rest through desc->body[i] and so on.
TG_API int tg_desc_add_body(tgDesc *desc, int parent, const char *name);
TG_API int tg_desc_add_joint(tgDesc *desc, int body, tgJointType type, const char *name);
TG_API int tg_desc_add_geom(tgDesc *desc, int body, tgGeomType type, const char *name);
TG_API int tg_desc_add_site(tgDesc *desc, int body, const char *name);
/// Copies nvert x 3 vertices and nface x 3 indices.
TG_API int tg_desc_add_mesh(tgDesc *desc, const char *name, const double *vert, int nvert, const int *face, int nface);
TG_API int tg_desc_add_actuator(tgDesc *desc, tgTransmission transmission, int target, const char *name);
TG_API int tg_desc_add_tendon(tgDesc *desc, const char *name, const int *joint, const double *coef, int njoint);
/// Copies site and divisor (npath each): sites, or -1 for a pulley, where a new branch begins whose ways count over the pulley's divisor.
/// It needs two sites in a row at least; divisors of sites are not read. springlength is -1, -1.
TG_API int tg_desc_add_spatial_tendon(tgDesc *desc, const char *name, const int *site, const double *divisor, int npath);
TG_API int tg_desc_add_equality(tgDesc *desc, tgEqualityType type, int a, int b, const char *name);
TG_API int tg_desc_add_pair(tgDesc *desc, int geom1, int geom2, const char *name);
/// Copies body (nvert), pos (nvert x 3) and elem (nelem x 3). It resists nothing until its numbers are given.
TG_API int tg_desc_add_flex(tgDesc *desc, const char *name, const int *body, const double *pos, int nvert, const int *elem, int nelem);
/// A sensor of the object's index, which is of the kind that the type asks for (tgSensorDesc). Of a sensor of frames (framepos and the
/// like) the caller sets `frame` in the description afterwards, and ref_frame and ref where it is not read in the world.
TG_API int tg_desc_add_sensor(tgDesc *desc, tgSensorType type, int object, const char *name);
TG_API int tg_desc_add_exclude(tgDesc *desc, int body1, int body2);
TG_API int tg_desc_add_key(tgDesc *desc, const char *name, const double *qpos, int nqpos, const double *qvel, int nqvel,
                           const double *ctrl, int nctrl);
/// Copies `act`, activations of the actuators that have one, to keyframe `key` of the desc. False when memory is short or
/// there is no such keyframe.
TG_API bool tg_desc_key_activations(tgDesc *desc, int key, const double *act, int nact);
/// Records a note (printf style). Returns its index or -1.
TG_API int tg_desc_add_note(tgDesc *desc, tgNoteKind kind, tgSource source, const char *format, ...) TG_PRINTF(4, 5);
/// Registers a file name for tgSource.file; the same name gives the same index.
TG_API int tg_desc_add_file(tgDesc *desc, const char *path);
/// Copies a string (or bytes) into the desc. NULL when memory is short.
TG_API const char *tg_desc_string(tgDesc *desc, const char *text);
TG_API void *tg_desc_bytes(tgDesc *desc, const void *data, size_t bytes);

/// Index of the named element (the first, should two have one name), -1 when there is none.
TG_API int tg_desc_find_body(const tgDesc *desc, const char *name);
TG_API int tg_desc_find_joint(const tgDesc *desc, const char *name);
TG_API int tg_desc_find_geom(const tgDesc *desc, const char *name);
TG_API int tg_desc_find_mesh(const tgDesc *desc, const char *name);
TG_API int tg_desc_find_tendon(const tgDesc *desc, const char *name);
TG_API int tg_desc_find_site(const tgDesc *desc, const char *name);

TG_API const char *tg_sensor_word(tgSensorType type);   ///< MJCF's word, as "gyro"; NULL: there is no such type.
TG_API int tg_sensor_width(tgSensorType type);          ///< How many numbers it tells; 0: there is no such type.

/// Kinds of what a file may have that changes motion and is not supported. A loader refuses it, unless it is told to leave the kind
/// out; the refusal names the kind. tg_drop_word and tg_drop_text tell them.
typedef enum tgDrop {
  TG_DROP_ACTUATOR, TG_DROP_ATTACH, TG_DROP_EQUALITY, TG_DROP_FLUID, TG_DROP_GEOM, TG_DROP_HFIELD, TG_DROP_JOINT,  ///< each as its
  TG_DROP_MESH, TG_DROP_OPTION, TG_DROP_PLUGIN, TG_DROP_SOFT_BODY, TG_DROP_SPATIAL_TENDON, TG_DROP_TENDON,  ///< word says
  TG_DROP_UNKNOWN,                 ///< what is no MJCF
  TG_DROP_COUNT                    ///< how many there are
} tgDrop;
TG_API const char *tg_drop_word(tgDrop kind);   ///< Its word, as "spatial-tendon"; NULL: there is no such kind.
TG_API const char *tg_drop_text(tgDrop kind);   ///< What is left out then; NULL likewise.

/// Options of the file loaders.
typedef struct tgLoadOptions {
  size_t size;                     ///< set by tg_load_default
  const tgAllocator *allocator;    ///< NULL: malloc
  bool lenient;                    ///< what is refused and yet changes no motion becomes a listed note
  unsigned drop;                   ///< bits 1 << tgDrop of what is left out although it changes motion; each is listed
  bool allow_absolute;             ///< permit absolute asset paths (still below an asset root)
  bool fixed_base;                 ///< URDF: weld the root link to the world (default: free joint); MJCF says so itself: TG_ERR_ARG
  bool ground;                     ///< add a plane to the world, geom "ground", for models that have none
  double ground_height;            ///< its z [m]
  const char *const *asset_root; int nasset_root;   ///< further directories that files may come from
  const char *const *package_name; const char *const *package_path; int npackage;  ///< package:// map
  size_t max_file_bytes, max_total_bytes;   ///< 256 MiB, 1 GiB
  int max_elements, max_depth;     ///< 1e6, 1e4
  bool repair;                     ///< balance invalid inertias, flip winding; each is listed
  bool decompose;                  ///< mesh geoms that are not convex collide as convex pieces: tg_desc_decompose
  double decompose_threshold;      ///< 0.05; 0.01 (fine) to 1: about how far a piece may be from the mesh, in a mesh
                                   ///< scaled to the box -1..1
  const char *cache_directory;     ///< where pieces are kept that cannot be kept beside their mesh; NULL: nowhere
} tgLoadOptions;
TG_API tgLoadOptions tg_load_default(void);  ///< The defaults of the loaders.
/// Adds kinds to options->drop, by their words with commas or spaces between. TG_ERR_ARG names the first word that is none.
TG_API tgStatus tg_load_drop(tgLoadOptions *options, const char *words, tgError *error);

/// Reads an MJCF or URDF file (told apart by the root element) with its meshes. NULL on failure, error filled.
/// options and error may be NULL. Reads only regular files below the model's directory (URDF: its package).
TG_API tgDesc *tg_desc_load(const char *path, const tgLoadOptions *options, tgError *error);
/// The same for a document of `size` bytes in memory; `name` stands for the file in messages. It may refer to no files
/// unless options name asset roots or packages to take them from.
TG_API tgDesc *tg_desc_load_memory(const char *name, const void *data, size_t size, const tgLoadOptions *options,
                                   tgError *error);

/// Makes every mesh geom that may touch and is not convex (its hull has 1 % more volume, or the mesh is open or wound both ways)
/// collide as convex pieces: geoms NAME/piece0, NAME/piece1, ... of the same body and group 3, with meshes of their own, without
/// mass, appended to the geoms. The geom itself keeps mesh, mass and looks and touches nothing; pairs are repeated for its pieces.
/// Cutting takes seconds to minutes a mesh; the pieces are kept beside the mesh's file, or in options->cache_directory, as
/// FILE.KEY.pieces, KEY a hash of the mesh, the threshold and the library. Same mesh, same pieces.
/// options (NULL: the defaults): allocator, decompose_threshold, cache_directory, max_elements and max_file_bytes count.
/// TG_ERR_UNSUPPORTED when the build has no library for it and pieces are needed; TG_ERR_ARG, TG_ERR_INVALID, TG_ERR_LIMIT,
/// TG_ERR_MEMORY; the texts name the mesh's file. After an error desc is good for freeing only.
TG_API tgStatus tg_desc_decompose(tgDesc *desc, const tgLoadOptions *options, tgError *error);
/// Adds a plane, geom "ground" of the world, `gap` [m] below the lowest point of everything that may touch in the pose of the file.
/// None, and a note, where the world has a plane of that name or nothing may touch. TG_ERR_INVALID: another geom has it; tg_model_compile.
TG_API tgStatus tg_desc_ground_below(tgDesc *desc, double gap, tgError *error);
/// Excludes contact between bodies of one robot (below one body of the world) whose shapes, in the pose of the file,
/// are nearer than `gap` [m, at most 1e-3; negative: overlap by so much]: links that overlap by design can never be
/// parted. Each pair is listed as a note. Returns their number, or a negative status; errors of tg_model_compile.
TG_API int tg_desc_exclude_overlapping(tgDesc *desc, double gap, tgError *error);
/// The library that cuts meshes, with its version; "" when none is built in.
TG_API const char *tg_decomposer(void);

#ifdef __cplusplus
}
#endif
#endif
