// task_yaml.c: the schema of task files.
#include "optim/task.h"
#include "optim/yaml.h"

static const cyaml_strval_t term_words[] = {
    {"body_position", TG_TERM_BODY_POSITION}, {"site_position", TG_TERM_SITE_POSITION}, {"body_com", TG_TERM_BODY_COM},
    {"joint_position", TG_TERM_JOINT_POSITION}, {"joint_velocity", TG_TERM_JOINT_VELOCITY},
    {"velocity", TG_TERM_VELOCITY}, {"control", TG_TERM_CONTROL}, {"pose", TG_TERM_POSE}, {"height", TG_TERM_HEIGHT},
    {"body_velocity", TG_TERM_BODY_VELOCITY}, {"body_orientation", TG_TERM_BODY_ORIENTATION},
    {"gap", TG_TERM_GAP}, {"speed", TG_TERM_SPEED}};
static const cyaml_strval_t when_words[] = {{"end", TG_TERM_END}, {"all", TG_TERM_ALL}, {"time", TG_TERM_TIME},
                                            {"least", TG_TERM_LEAST}};
static const cyaml_strval_t part_words[] = {{"position", TG_INITIAL_POSITION}, {"velocity", TG_INITIAL_VELOCITY},
                                            {"activation", TG_INITIAL_ACTIVATION}};
static const cyaml_strval_t basis_words[] = {{"steps", TG_BASIS_STEPS}, {"sines", TG_BASIS_SINES}};
static const cyaml_strval_t method_words[] = {{"adam", TG_METHOD_ADAM}, {"descent", TG_METHOD_DESCENT},
                                              {"lbfgs", TG_METHOD_LBFGS}, {"random", TG_METHOD_RANDOM}, {"cem", TG_METHOD_CEM},
                                              {"ilqr", TG_METHOD_ILQR}, {"ddp", TG_METHOD_DDP},
                                              {"gauss_newton", TG_METHOD_GAUSS_NEWTON}, {"bundle", TG_METHOD_BUNDLE},
                                              {"shooting", TG_METHOD_SHOOTING}};
static const cyaml_strval_t smoothing_words[] = {{"none", TG_SMOOTH_NONE}, {"first", TG_SMOOTH_FIRST}, {"zeroth", TG_SMOOTH_ZEROTH},
                                                 {"mixed", TG_SMOOTH_MIXED}};
static const cyaml_strval_t aim_words[] = {{"all", 0}, {"nearest", 1}};   // whether one thing is brought home at a time
static const cyaml_strval_t fill_words[] = {{"start", 0}, {"hold", 1}};   // whether the last control is held
#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))

static const cyaml_schema_value_t number = {CYAML_VALUE_FLOAT(CYAML_FLAG_DEFAULT, double)},
                                  index_number = {CYAML_VALUE_INT(CYAML_FLAG_DEFAULT, int)};

static const cyaml_schema_field_t horizon_fields[] = {
    CYAML_FIELD_INT("steps", CYAML_FLAG_DEFAULT, YamlHorizon, steps),
    CYAML_FIELD_FLOAT("timestep", CYAML_FLAG_OPTIONAL, YamlHorizon, timestep),
    CYAML_FIELD_END};
static const cyaml_schema_field_t joint_fields[] = {
    CYAML_FIELD_STRING_PTR("joint", CYAML_FLAG_POINTER, YamlJoint, joint, 1, 256),
    CYAML_FIELD_SEQUENCE_COUNT("position", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlJoint, position, nposition, &number, 1, 7),
    CYAML_FIELD_SEQUENCE_COUNT("velocity", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlJoint, velocity, nvelocity, &number, 1, 6),
    CYAML_FIELD_END};
static const cyaml_schema_value_t joint_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlJoint, joint_fields)};
static const cyaml_schema_field_t start_fields[] = {
    CYAML_FIELD_STRING_PTR("keyframe", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlStart, keyframe, 1, 256),
    CYAML_FIELD_SEQUENCE_COUNT("joints", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlStart, joints, njoints, &joint_value, 0, 100000),
    CYAML_FIELD_FLOAT_PTR("inside", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlStart, inside),
    CYAML_FIELD_FLOAT_PTR("separate", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlStart, separate),
    CYAML_FIELD_END};
static const cyaml_schema_field_t restitution_fields[] = {
    CYAML_FIELD_STRING_PTR("geom", CYAML_FLAG_POINTER, YamlRestitution, geom, 1, 256),
    CYAML_FIELD_FLOAT("value", CYAML_FLAG_DEFAULT, YamlRestitution, value),
    CYAML_FIELD_END};
static const cyaml_schema_value_t restitution_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlRestitution, restitution_fields)};
static const cyaml_schema_field_t controls_fields[] = {
    CYAML_FIELD_ENUM("basis", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlControls, basis, basis_words, COUNT(basis_words)),
    CYAML_FIELD_INT("every", CYAML_FLAG_OPTIONAL, YamlControls, every),
    CYAML_FIELD_INT("terms", CYAML_FLAG_OPTIONAL, YamlControls, terms),
    CYAML_FIELD_FLOAT("amplitude", CYAML_FLAG_OPTIONAL, YamlControls, amplitude),
    CYAML_FIELD_FLOAT("frequency", CYAML_FLAG_OPTIONAL, YamlControls, frequency),
    CYAML_FIELD_STRING_PTR("start", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlControls, start, 1, 60),
    CYAML_FIELD_FLOAT("start_noise", CYAML_FLAG_OPTIONAL, YamlControls, start_noise),
    CYAML_FIELD_FLOAT_PTR("low", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlControls, low),
    CYAML_FIELD_FLOAT_PTR("high", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlControls, high),
    CYAML_FIELD_END};
static const cyaml_schema_field_t initial_fields[] = {
    CYAML_FIELD_STRING_PTR("joint", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlInitial, joint, 1, 256),
    CYAML_FIELD_STRING_PTR("actuator", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlInitial, actuator, 1, 256),
    CYAML_FIELD_ENUM("part", CYAML_FLAG_STRICT, YamlInitial, part, part_words, COUNT(part_words)),
    CYAML_FIELD_SEQUENCE_COUNT("entries", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlInitial, entries, nentries, &index_number, 1, 6),
    CYAML_FIELD_FLOAT_PTR("low", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlInitial, low),
    CYAML_FIELD_FLOAT_PTR("high", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlInitial, high),
    CYAML_FIELD_END};
static const cyaml_schema_value_t initial_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlInitial, initial_fields)};
static const cyaml_schema_field_t parameter_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, YamlParameter, name, 1, 256),
    CYAML_FIELD_STRING_PTR("of", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlParameter, of, 1, 256),
    CYAML_FIELD_INT_PTR("entry", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlParameter, entry),
    CYAML_FIELD_FLOAT_PTR("start", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlParameter, start),
    CYAML_FIELD_FLOAT_PTR("low", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlParameter, low),
    CYAML_FIELD_FLOAT_PTR("high", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlParameter, high),
    CYAML_FIELD_END};
static const cyaml_schema_value_t parameter_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlParameter, parameter_fields)};
static const cyaml_schema_value_t geom_name = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 255)};
static const cyaml_schema_field_t loss_fields[] = {
    CYAML_FIELD_ENUM("term", CYAML_FLAG_STRICT, YamlLoss, term, term_words, COUNT(term_words)),
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlLoss, name, 1, 256),
    CYAML_FIELD_SEQUENCE_COUNT("geoms", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlLoss, geoms, ngeoms, &geom_name, 2, 2),
    CYAML_FIELD_SEQUENCE_COUNT("target", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlLoss, target, ntarget, &number, 1, 4),
    CYAML_FIELD_STRING_PTR("axes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlLoss, axes, 1, 3),
    CYAML_FIELD_FLOAT_PTR("weight", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlLoss, weight),
    CYAML_FIELD_STRING_PTR("keyframe", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlLoss, keyframe, 1, 256),
    CYAML_FIELD_FLOAT_PTR("time", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlLoss, time),
    CYAML_FIELD_FLOAT("tolerance", CYAML_FLAG_OPTIONAL, YamlLoss, tolerance),
    CYAML_FIELD_INT("stage", CYAML_FLAG_OPTIONAL, YamlLoss, stage),
    CYAML_FIELD_ENUM("at", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlLoss, at, when_words, COUNT(when_words)),
    CYAML_FIELD_END};
static const cyaml_schema_value_t loss_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlLoss, loss_fields)};
static const cyaml_schema_field_t optimizer_fields[] = {
    CYAML_FIELD_ENUM("method", CYAML_FLAG_STRICT, YamlOptimizer, method, method_words, COUNT(method_words)),
    CYAML_FIELD_ENUM("smoothing", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlOptimizer, smoothing, smoothing_words,
                     COUNT(smoothing_words)),
    CYAML_FIELD_STRING_PTR("gradient", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlOptimizer, gradient, 0, 63),
    CYAML_FIELD_INT("iterations", CYAML_FLAG_DEFAULT, YamlOptimizer, iterations),
    CYAML_FIELD_FLOAT("rate", CYAML_FLAG_OPTIONAL, YamlOptimizer, rate),
    CYAML_FIELD_FLOAT("decay", CYAML_FLAG_OPTIONAL, YamlOptimizer, decay),
    CYAML_FIELD_FLOAT("beta1", CYAML_FLAG_OPTIONAL, YamlOptimizer, beta1),
    CYAML_FIELD_FLOAT("beta2", CYAML_FLAG_OPTIONAL, YamlOptimizer, beta2),
    CYAML_FIELD_FLOAT("sigma", CYAML_FLAG_OPTIONAL, YamlOptimizer, sigma),
    CYAML_FIELD_FLOAT("correlation", CYAML_FLAG_OPTIONAL, YamlOptimizer, correlation),
    CYAML_FIELD_FLOAT("momentum", CYAML_FLAG_OPTIONAL, YamlOptimizer, momentum),
    CYAML_FIELD_FLOAT_PTR("stop_loss", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlOptimizer, stop_loss),
    CYAML_FIELD_FLOAT_PTR("stop_distance", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlOptimizer, stop_distance),
    CYAML_FIELD_FLOAT("tolerance", CYAML_FLAG_OPTIONAL, YamlOptimizer, tolerance),
    CYAML_FIELD_INT("population", CYAML_FLAG_OPTIONAL, YamlOptimizer, population),
    CYAML_FIELD_INT("elites", CYAML_FLAG_OPTIONAL, YamlOptimizer, elites),
    CYAML_FIELD_INT("keep", CYAML_FLAG_OPTIONAL, YamlOptimizer, keep),
    CYAML_FIELD_INT("memory", CYAML_FLAG_OPTIONAL, YamlOptimizer, memory),
    CYAML_FIELD_INT("shot", CYAML_FLAG_OPTIONAL, YamlOptimizer, shot),
    CYAML_FIELD_INT("starts", CYAML_FLAG_OPTIONAL, YamlOptimizer, starts),
    CYAML_FIELD_INT("attempts", CYAML_FLAG_OPTIONAL, YamlOptimizer, attempts),
    CYAML_FIELD_INT("patience", CYAML_FLAG_OPTIONAL, YamlOptimizer, patience),
    CYAML_FIELD_INT("plans", CYAML_FLAG_OPTIONAL, YamlOptimizer, plans),
    CYAML_FIELD_END};
static const cyaml_schema_field_t receding_fields[] = {
    CYAML_FIELD_INT("horizon", CYAML_FLAG_DEFAULT, YamlReceding, horizon),
    CYAML_FIELD_INT("apply", CYAML_FLAG_DEFAULT, YamlReceding, apply),
    CYAML_FIELD_ENUM("fill", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlReceding, hold, fill_words, COUNT(fill_words)),
    CYAML_FIELD_ENUM("aim", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlReceding, aim, aim_words, COUNT(aim_words)),
    CYAML_FIELD_END};
static const cyaml_schema_field_t success_fields[] = {
    CYAML_FIELD_FLOAT_PTR("loss", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlSuccess, loss),
    CYAML_FIELD_FLOAT("distance", CYAML_FLAG_OPTIONAL, YamlSuccess, distance),
    CYAML_FIELD_END};
static const cyaml_schema_value_t short_text = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 31)};
static const cyaml_schema_field_t verify_fields[] = {
    CYAML_FIELD_SEQUENCE_COUNT("rows", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVerify, rows, nrows, &short_text, 0, 20),
    CYAML_FIELD_FLOAT_PTR("loss", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVerify, loss),
    CYAML_FIELD_FLOAT("distance", CYAML_FLAG_OPTIONAL, YamlVerify, distance),
    CYAML_FIELD_END};
static const cyaml_schema_field_t stage_fields[] = {
    CYAML_FIELD_STRING_PTR("contact", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlStage, contact, 1, 31),
    CYAML_FIELD_ENUM_PTR("method", CYAML_FLAG_POINTER | CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlStage, method, method_words,
                         COUNT(method_words)),
    CYAML_FIELD_IGNORE("options", CYAML_FLAG_OPTIONAL),   // settings.h
    CYAML_FIELD_FLOAT("timestep", CYAML_FLAG_OPTIONAL, YamlStage, timestep),
    CYAML_FIELD_INT("iterations", CYAML_FLAG_OPTIONAL, YamlStage, iterations),
    CYAML_FIELD_FLOAT("rate", CYAML_FLAG_OPTIONAL, YamlStage, rate),
    CYAML_FIELD_BOOL("whole", CYAML_FLAG_OPTIONAL, YamlStage, whole),
    CYAML_FIELD_SEQUENCE_COUNT("replays", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlStage, replays, nreplays, &short_text, 1, 20),
    CYAML_FIELD_END};
static const cyaml_schema_value_t stage_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlStage, stage_fields)};
static const cyaml_schema_field_t task_fields[] = {
    CYAML_FIELD_STRING_PTR("model", CYAML_FLAG_POINTER, YamlTask, model, 1, 1000),
    CYAML_FIELD_FLOAT_PTR("ground", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, ground),
    CYAML_FIELD_INT("contact_triangles", CYAML_FLAG_OPTIONAL, YamlTask, contact_triangles),
    CYAML_FIELD_SEQUENCE_COUNT("drop", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, drop, ndrop, &short_text, 0, 100),
    CYAML_FIELD_STRING_PTR("contact", CYAML_FLAG_POINTER, YamlTask, contact, 1, 31),
    CYAML_FIELD_IGNORE("options", CYAML_FLAG_OPTIONAL),   // settings.h
    CYAML_FIELD_IGNORE("gradient", CYAML_FLAG_OPTIONAL),  // likewise
    CYAML_FIELD_MAPPING("horizon", CYAML_FLAG_DEFAULT, YamlTask, horizon, horizon_fields),
    CYAML_FIELD_MAPPING_PTR("start", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, start, start_fields),
    CYAML_FIELD_SEQUENCE_COUNT("restitution", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, restitution, nrestitution,
                               &restitution_value, 0, 100000),
    CYAML_FIELD_MAPPING_PTR("controls", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, controls, controls_fields),
    CYAML_FIELD_SEQUENCE_COUNT("initial", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, initial, ninitial, &initial_value, 0, 100000),
    CYAML_FIELD_SEQUENCE_COUNT("parameters", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, parameters,
                               nparameters, &parameter_value, 0, 1000),
    CYAML_FIELD_SEQUENCE_COUNT("states", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, states, nstates, &initial_value, 0, 100000),
    CYAML_FIELD_SEQUENCE_COUNT("losses", CYAML_FLAG_POINTER, YamlTask, losses, nlosses, &loss_value, 1, 1000),
    CYAML_FIELD_STRING_PTR("effort", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, effort, 1, 60),
    CYAML_FIELD_MAPPING("optimizer", CYAML_FLAG_DEFAULT, YamlTask, optimizer, optimizer_fields),
    CYAML_FIELD_MAPPING_PTR("receding", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, receding, receding_fields),
    CYAML_FIELD_MAPPING_PTR("search", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, search, optimizer_fields),
    CYAML_FIELD_MAPPING_PTR("success", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, success, success_fields),
    CYAML_FIELD_MAPPING_PTR("verify", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, verify, verify_fields),
    CYAML_FIELD_SEQUENCE_COUNT("refine", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlTask, refine, nrefine, &stage_value, 0, 20),
    CYAML_FIELD_END};
static const cyaml_schema_value_t task_schema = {CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, YamlTask, task_fields)};

tgStatus tgi_task_parse(const char *text, size_t bytes, const char *file, YamlTask **out, tgError *error) {
  return tgi_yaml_parse(text, bytes, file, &task_schema, (void **)out, error);
}

void tgi_task_parse_free(YamlTask *yaml) { tgi_yaml_free(&task_schema, yaml); }
