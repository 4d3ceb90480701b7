// urdf.h: URDF (robot description of ROS) into a description.
#ifndef TG_IO_URDF_H
#define TG_IO_URDF_H

#include "io/file.h"
#include "io/xml.h"

/// Fills desc from a parsed document whose root element is <robot>.
///
/// Bodies come depth first, children in the order of their joints in the file; a body's frame is its joint's. A root
/// link called "world" is the world; any other gets a free joint unless options->fixed_base, or unless neither it nor
/// what is fixed to it has mass (a warning says so). Each moving joint that mimics nothing gets a motor of its name,
/// limited to its effort; a planar joint becomes slides x, y and a hinge z, called NAME_x, NAME_y, NAME_z, each with a
/// motor. Visual geoms are visual_only; collision geoms weigh nothing. files NULL: no mesh can be read. Errors carry
/// file, line, column.
tgStatus tgi_urdf_load(tgDesc *desc, const tgXml *doc, tgFileSet *files, const tgLoadOptions *options, tgError *error);

#endif
