// desc.h: what readers of files share beside tangere/desc.h.
#ifndef TG_DESC_DESC_H
#define TG_DESC_DESC_H

#include "tangere/desc.h"

/// A geom as tg_desc_add_geom makes it, without a name.
tgGeomDesc tgi_geom_default(int body, tgGeomType type);

/// What a sensor is of; a joint that is a hinge or slide.
typedef enum tgiSensorOf { TGI_OF_JOINT, TGI_OF_BALL, TGI_OF_TENDON, TGI_OF_ACTUATOR, TGI_OF_SITE, TGI_OF_TREE, TGI_OF_FRAME } tgiSensorOf;
tgiSensorOf tgi_sensor_of(tgSensorType type);
/// The type of MJCF's word, -1: there is none, or it is not supported.
int tgi_sensor_type(const char *word);

#endif
