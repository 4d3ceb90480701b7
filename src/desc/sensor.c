// sensor.c: the kinds of sensors: their words in MJCF, what they are of, and how many numbers they tell.
#include <string.h>

#include "desc/desc.h"

static const struct { const char *word; tgiSensorOf of; int width; } kinds[TG_SENSOR_COUNT] = {
    [TG_SENSOR_JOINTPOS] = {"jointpos", TGI_OF_JOINT, 1},
    [TG_SENSOR_JOINTVEL] = {"jointvel", TGI_OF_JOINT, 1},
    [TG_SENSOR_JOINTLIMITPOS] = {"jointlimitpos", TGI_OF_JOINT, 1},
    [TG_SENSOR_JOINTLIMITVEL] = {"jointlimitvel", TGI_OF_JOINT, 1},
    [TG_SENSOR_JOINTACTUATORFRC] = {"jointactuatorfrc", TGI_OF_JOINT, 1},
    [TG_SENSOR_BALLQUAT] = {"ballquat", TGI_OF_BALL, 4},
    [TG_SENSOR_BALLANGVEL] = {"ballangvel", TGI_OF_BALL, 3},
    [TG_SENSOR_TENDONPOS] = {"tendonpos", TGI_OF_TENDON, 1},
    [TG_SENSOR_TENDONVEL] = {"tendonvel", TGI_OF_TENDON, 1},
    [TG_SENSOR_TENDONLIMITPOS] = {"tendonlimitpos", TGI_OF_TENDON, 1},
    [TG_SENSOR_TENDONLIMITVEL] = {"tendonlimitvel", TGI_OF_TENDON, 1},
    [TG_SENSOR_TENDONACTUATORFRC] = {"tendonactuatorfrc", TGI_OF_TENDON, 1},
    [TG_SENSOR_ACTUATORPOS] = {"actuatorpos", TGI_OF_ACTUATOR, 1},
    [TG_SENSOR_ACTUATORVEL] = {"actuatorvel", TGI_OF_ACTUATOR, 1},
    [TG_SENSOR_ACTUATORFRC] = {"actuatorfrc", TGI_OF_ACTUATOR, 1},
    [TG_SENSOR_ACCELEROMETER] = {"accelerometer", TGI_OF_SITE, 3},
    [TG_SENSOR_VELOCIMETER] = {"velocimeter", TGI_OF_SITE, 3},
    [TG_SENSOR_GYRO] = {"gyro", TGI_OF_SITE, 3},
    [TG_SENSOR_SUBTREECOM] = {"subtreecom", TGI_OF_TREE, 3},
    [TG_SENSOR_SUBTREELINVEL] = {"subtreelinvel", TGI_OF_TREE, 3},
    [TG_SENSOR_SUBTREEANGMOM] = {"subtreeangmom", TGI_OF_TREE, 3},
    [TG_SENSOR_FRAMEPOS] = {"framepos", TGI_OF_FRAME, 3},
    [TG_SENSOR_FRAMEQUAT] = {"framequat", TGI_OF_FRAME, 4},
    [TG_SENSOR_FRAMEXAXIS] = {"framexaxis", TGI_OF_FRAME, 3},
    [TG_SENSOR_FRAMEYAXIS] = {"frameyaxis", TGI_OF_FRAME, 3},
    [TG_SENSOR_FRAMEZAXIS] = {"framezaxis", TGI_OF_FRAME, 3},
    [TG_SENSOR_FRAMELINVEL] = {"framelinvel", TGI_OF_FRAME, 3},
    [TG_SENSOR_FRAMEANGVEL] = {"frameangvel", TGI_OF_FRAME, 3},
    [TG_SENSOR_FRAMELINACC] = {"framelinacc", TGI_OF_FRAME, 3},
    [TG_SENSOR_FRAMEANGACC] = {"frameangacc", TGI_OF_FRAME, 3},
    [TG_SENSOR_TOUCH] = {"touch", TGI_OF_SITE, 1},
    [TG_SENSOR_FORCE] = {"force", TGI_OF_SITE, 3},
    [TG_SENSOR_TORQUE] = {"torque", TGI_OF_SITE, 3},
};

static bool known(tgSensorType type) { return (int)type >= 0 && type < TG_SENSOR_COUNT; }
const char *tg_sensor_word(tgSensorType type) { return known(type) ? kinds[type].word : NULL; }
int tg_sensor_width(tgSensorType type) { return known(type) ? kinds[type].width : 0; }
tgiSensorOf tgi_sensor_of(tgSensorType type) { return known(type) ? kinds[type].of : TGI_OF_FRAME; }

int tgi_sensor_type(const char *word) {
  for (int i = 0; i < TG_SENSOR_COUNT; i++)
    if (strcmp(kinds[i].word, word) == 0) return i;
  return -1;
}
