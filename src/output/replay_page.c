// replay_page.c: pages of runs and their motions, gathered one after the other. See tangere/replay.h.
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "output/replay_signals.h"

typedef struct Run {
  tgReplayInfo info;
  tgReplayModel store;           // of the sim of its last motion
  tgReplayShapes shapes;
} Run;

// a motion; it points into itself, so it stays where it is
typedef struct Motion {
  tgReplayShown shown;
  int run;
} Motion;

struct tgReplay {
  const char *title;
  Run *run; int nrun;
  Motion **motion; int nmotion;
  tgAllocator alloc;
};

tgReplay *tg_replay_create(const char *title, tgError *error) {
  tgAllocator a = tgi_allocator(NULL);
  tgReplay *page = a.alloc(a.ctx, sizeof *page);
  if (page == NULL) tgi_error(error, TG_ERR_MEMORY, "out of memory for a replay");
  else *page = (tgReplay){.title = title, .alloc = a};
  return page;
}

void tg_replay_free(tgReplay *page) {
  if (page == NULL) return;
  tgAllocator a = page->alloc;
  for (int i = 0; i < page->nmotion; i++) {
    tgi_replay_shown_free(&page->motion[i]->shown);
    a.free(a.ctx, page->motion[i]);
  }
  for (int i = 0; i < page->nrun; i++) tgi_replay_model_free(&page->run[i].store);
  a.free(a.ctx, page->motion);
  a.free(a.ctx, page->run);
  a.free(a.ctx, page);
}

tgStatus tg_replay_add_run(tgReplay *page, const tgReplayInfo *info, tgError *error) {
  if (page == NULL) return tgi_error(error, TG_ERR_ARG, "no page given");
  Run *grown = page->alloc.realloc(page->alloc.ctx, page->run, ((size_t)page->nrun + 1) * sizeof *grown);
  if (grown == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a run of a replay");
  page->run = grown;
  page->run[page->nrun++] = (Run){.info = info != NULL ? *info : (tgReplayInfo){0}};
  return TG_OK;
}

// an empty motion of the last run, at the end of the list; NULL: no memory
static Motion *append(tgReplay *page) {
  tgAllocator a = page->alloc;
  Motion **grown = a.realloc(a.ctx, page->motion, ((size_t)page->nmotion + 1) * sizeof *grown);
  if (grown == NULL) return NULL;
  page->motion = grown;
  Motion *motion = a.alloc(a.ctx, sizeof *motion);
  if (motion == NULL) return NULL;
  *motion = (Motion){.run = page->nrun - 1};
  return page->motion[page->nmotion++] = motion;
}

static void drop_last(tgReplay *page) {
  Motion *motion = page->motion[--page->nmotion];
  tgi_replay_shown_free(&motion->shown);
  page->alloc.free(page->alloc.ctx, motion);
}

tgStatus tg_replay_add_motion(tgReplay *page, tgSim *sim, const tgTrajectory *trajectory, const char *label,
                              double iteration, double h, tgError *error) {
  if (page == NULL || sim == NULL || trajectory == NULL) return tgi_error(error, TG_ERR_ARG, "no page, no simulation or no motion given");
  if (page->nrun == 0) return tgi_error(error, TG_ERR_STATE, "the page has no run that the motion could belong to: begin one first");
  Run *run = &page->run[page->nrun - 1];
  Motion *motion = append(page);
  if (motion == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a motion of a replay");
  tgStatus status = tgi_replay_show(sim, trajectory, label, iteration, h, &motion->shown, error);
  if (status != TG_OK) {
    drop_last(page);
    return status;
  }
  tgi_replay_model_free(&run->store);
  status = tgi_replay_model(&sim->m, NULL, &run->store, &run->shapes);
  return status == TG_OK ? status : tgi_error(error, status, "out of memory for the shapes of a replay");
}

// what the writer takes, gathered in the arrays of def
static tgStatus write(const tgReplay *page, tgReplayShapes *shapes, tgReplayRun *run, tgReplayTrajectory *trajectory,
                      const char *viewer, const char *path, tgError *error) {
  for (int i = 0; i < page->nrun; i++) {
    const tgReplayInfo *info = &page->run[i].info;
    shapes[i] = page->run[i].shapes;
    run[i] = (tgReplayRun){.label = info->label, .model = i, .nmarker = info->nmarker, .marker = info->marker,
                           .track = info->track, .nloss = info->nloss, .loss_x = info->loss_x, .loss_y = info->loss_y,
                           .loss_label = info->loss_label, .loss_stage = info->loss_stage, .nband = info->nband,
                           .band = info->band, .nfigure = info->nfigure,
                           .figure = info->figure};
  }
  for (int i = 0; i < page->nmotion; i++) {
    trajectory[i] = page->motion[i]->shown.trajectory;
    trajectory[i].run = page->motion[i]->run;
  }
  tgReplayDef def = {.title = page->title, .nmodel = page->nrun, .model = shapes, .nrun = page->nrun, .run = run,
                     .ntrajectory = page->nmotion, .trajectory = trajectory};
  return tgi_replay_write(&def, viewer, path, error);
}

// every run was begun for a motion: one without has no shapes to draw
static bool complete(const tgReplay *page) {
  for (int i = 0; i < page->nrun; i++)
    if (page->run[i].store.geom == NULL) return false;
  return page->nrun > 0;
}

tgStatus tg_replay_write(const tgReplay *page, const char *viewer, const char *path, tgError *error) {
  if (page == NULL || path == NULL) return tgi_error(error, TG_ERR_ARG, "no page or no path given");
  if (!complete(page)) return tgi_error(error, TG_ERR_STATE, "%s: a run of the page has no motion", path);
  tgAllocator a = page->alloc;
  tgReplayShapes *shapes = a.alloc(a.ctx, (size_t)page->nrun * sizeof *shapes);
  tgReplayRun *run = a.alloc(a.ctx, (size_t)page->nrun * sizeof *run);
  tgReplayTrajectory *trajectory = a.alloc(a.ctx, (size_t)page->nmotion * sizeof *trajectory);
  tgStatus status = shapes == NULL || run == NULL || trajectory == NULL ? tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", path)
                                                                       : write(page, shapes, run, trajectory, viewer, path, error);
  a.free(a.ctx, shapes);
  a.free(a.ctx, run);
  a.free(a.ctx, trajectory);
  return status;
}
