// table.c: the reproductions: their rows, what each should reach, and the papers' figures.
#include <math.h>

#include "repro/barrier.h"
#include "repro/softmin.h"

#define NONE NAN   // no published figure in this row's unit

static const tgBand reach_bands[] = {
    {"reach.distance", '<', 0.03, "m", NONE},
    {"reach.seconds", '<', 90, "s", NONE},
    {"no_contact_gradient.loss_ratio", '>', 5, "", NONE},
    {"random_search.loss_ratio", '>', 5, "", NONE},
};

// Tables II and III of [lcp]: times of all five Jacobians, ratios to central differences and to Ridders
static const tgBand jacobian_bands[] = {
    {"atlas.jacobians_us", '<', 500, "us", 8530},
    {"atlas.step_us", '<', 150, "us", NONE},
    {"atlas.jacobians_per_step", '<', 2, "", NONE},
    {"atlas.central_ratio", 0, 0, "", 87.84},
    {"atlas.ridders_ratio", 0, 0, "", 261},
    {"atlas.max_rel_error", '<', 1e-6, "", NONE},
    {"cheetah.jacobians_us", '<', 25, "us", 395},
    {"cheetah.step_us", '<', 10, "us", NONE},
    {"cheetah.jacobians_per_step", '<', 2.5, "", NONE},
    {"cheetah.central_ratio", 0, 0, "", 21.86},
    {"cheetah.ridders_ratio", 0, 0, "", 60},
    {"cheetah.max_rel_error", '<', 1e-6, "", NONE},
    {"jumpworm.jacobians_us", '<', 12, "us", 256},
    {"jumpworm.step_us", '<', 5, "us", NONE},
    {"jumpworm.central_ratio", 0, 0, "", 14.89},
    {"jumpworm.ridders_ratio", 0, 0, "", 37.9},
    {"jumpworm.max_rel_error", '<', 1e-6, "", NONE},
    {"catapult.jacobians_us", '<', 12, "us", 265},
    {"catapult.step_us", '<', 5, "us", NONE},
    {"catapult.central_ratio", 0, 0, "", 16.45},
    {"catapult.ridders_ratio", 0, 0, "", 45.2},
    {"catapult.max_rel_error", '<', 1e-6, "", NONE},
};

// figure 7 of [lcp] shows wall clock times without scale
static const tgBand search_bands[] = {
    {"cartpole.ddp_abs_x", '<', 0.001, "m", NONE},
    {"cartpole.search_over_ddp_seconds", '>', 10, "", NONE},
    {"double_cartpole.ddp_abs_angle", '<', 0.01, "rad", NONE},
    {"double_cartpole.search_over_ddp_seconds", '>', 10, "", NONE},
    {"catapult.shooting_loss", '<', 1e-6, "m^2", NONE},
    {"catapult.search_over_shooting_seconds", '>', 5, "", NONE},
};

static const tgBand drone_bands[] = {
    {"plain.max_abs_control", '<', 1e-12, "N", 0},
    {"aware.final_loss", '<', 0.001, "m^2", NONE},
    {"aware.iterations", '<', 50, "", NONE},
};

// section VII-D of [lcp]: tasks shown, without figures
static const tgBand motion_bands[] = {
    {"catapult.miss_m", '<', 0.001, "m", NONE},
    {"jumpworm.rise_m", '>', 0.3, "m", NONE},
    {"humanoid.clearance_m", '>', 0.05, "m", NONE},
    {"humanoid.failed_lcp", '<', 0, "", NONE},
};

// section VI of [toi], without figures: a thin plate is gripped, lifted and let fall; friction at its bound, and short of it
static const tgBand gripper_bands[] = {
    {"thick.1N.intersections", '<', 0, "", NONE},
    {"thick.1N.slip_m", '<', 1e-6, "m", NONE},
    {"thick.1N.rise_error_m", '<', 1e-5, "m", NONE},
    {"thick.1N.drop_m", '<', 2e-6, "m", NONE},
    {"thick.10N.intersections", '<', 0, "", NONE},
    {"thick.10N.slip_m", '<', 1e-6, "m", NONE},
    {"thick.10N.rise_error_m", '<', 1e-5, "m", NONE},
    {"thick.10N.drop_m", '<', 2e-6, "m", NONE},
    {"thin.1N.intersections", '<', 0, "", NONE},
    {"thin.1N.slip_m", '<', 1e-6, "m", NONE},
    {"thin.1N.rise_error_m", '<', 1e-5, "m", NONE},
    {"thin.1N.drop_m", '<', 2e-6, "m", NONE},
    {"thin.10N.intersections", '<', 0, "", NONE},
    {"thin.10N.slip_m", '<', 1e-6, "m", NONE},
    {"thin.10N.rise_error_m", '<', 1e-5, "m", NONE},
    {"thin.10N.drop_m", '<', 2e-6, "m", NONE},
    {"stalled", '<', 0, "", NONE},
    {"balance.slip_m", '<', 1e-9, "m", NONE},
    {"weak.slip_error_m", '<', 1e-6, "m", NONE},
    {"weak.dslip_dmu_error", '<', 1e-6, "m", NONE},
};

// table I of [toi]: where a ball ends that another one hits; our optimum is that of a closed form
static const tgBand two_ball_bands[] = {
    {"final_loss", '<', 1e-20, "m^2", NONE},
    {"vx_error", '<', 1e-6, "m/s", NONE},
    {"vy_error", '<', 1e-6, "m/s", NONE},
    {"final_error_m", '<', 1e-9, "m", 0.00156},
    {"evaluations", '<', 50, "", 1000},
    {"seconds", '<', 0.05, "s", NONE},
    {"gradient_error", '<', 1e-9, "", NONE},
    {"fixed_vx.vy_error", '<', 1e-5, "m/s", NONE},
    {"mesh.intersections", '<', 0, "", NONE},
    {"mesh.final_error_m", '<', 0.004, "m", NONE},
};

// sections II and VI of [toi], without figures: cubes that stick to each other, thin walls, a ball that bounces, bowling
static const tgBand collision_bands[] = {
    {"cubes.first_x_error", '<', 4e-5, "m", NONE},
    {"cubes.second_x_error", '<', 4e-5, "m", NONE},
    {"cubes.distance_over", '<', 2e-6, "m", NONE},
    {"cubes.overlap", '<', 0, "m", NONE},
    {"cubes.momentum_error", '<', 1e-9, "", NONE},
    {"wall.passed", '<', 0, "", NONE},
    {"wall.restitution_error", '<', 1e-12, "", NONE},
    {"drop.energy_error", '<', 1e-12, "", NONE},
    {"drop.slope_error", '<', 1e-12, "", NONE},
    {"bowling.intersections", '<', 0, "", NONE},
    {"bowling.stalled", '<', 0, "", NONE},
    {"bowling.energy_rise", '<', 1e-6, "", NONE},
    {"bowling.pins_down", '>', 1, "", NONE},
    {"bowling30.intersections", '<', 0, "", NONE},
    {"bowling30.stalled", '<', 0, "", NONE},
    {"bowling30.energy_rise", '<', 1e-6, "", NONE},
    {"bowling30.pins_down", '>', 1, "", NONE},
    {"bowling_mesh.intersections", '<', 0, "", NONE},
    {"bowling_mesh.stalled", '<', 0, "", NONE},
    {"bowling_mesh.energy_rise", '<', 1e-6, "", NONE},
    {"bowling_mesh.pins_down", '>', 1, "", NONE},
};

// examples of [toi], without figures: how many evaluations its optimiser may take, and the loss at which it stops
static const tgBand pancake_bands[] = {
    {"pancake.intersections", '<', 0, "", NONE},
    {"pancake.stalled", '<', 0, "", NONE},
    {"pancake.final_loss", '<', 5e-5, "", NONE},
    {"pancake.evaluations", '<', 1000, "", 1000},
};

static const tgBand peg_bands[] = {
    {"peg.intersections", '<', 0, "", NONE},
    {"peg.stalled", '<', 0, "", NONE},
    {"peg.final_loss", '<', 5e-5, "", NONE},
    {"peg.evaluations", '<', 1000, "", 1000},
    {"peg_mesh.intersections", '<', 0, "", NONE},
    {"peg_mesh.stalled", '<', 0, "", NONE},
};

// section VI of [toi]: slope of the velocity of sliding prisms (theirs -0.0147, exact -0.0144), two cubes that come to rest together
static const tgBand prism_bands[] = {
    {"prism.slope_error", '<', 1e-6, "m/s", 3e-4},
    {"toi.prism.slope_error", '<', 1e-12, "m/s", 3e-4},
    {"toi.prism.stop_step", '<', 139, "", NONE},
    {"toi.prism.distance_error", '<', 2e-5, "m", NONE},
    {"prism.stop_step", '<', 139, "", NONE},
    {"cubes.final_speed", '<', 1e-9, "m/s", NONE},
    {"cubes.momentum_error", '<', 1e-9, "", NONE},
    {"frictionless_steps", '<', 0, "", NONE},
};

// figure 2 of [damped], without figures; bands from what a prototype of the equations gave
static const tgBand drop_bands[] = {
    {"midpoint.alpha0.tv_m", '>', 2, "m", NONE},
    {"midpoint.alpha0.sign_changes", '>', 80, "", NONE},
    {"midpoint.alpha0.max_gradient", '>', 100, "", NONE},
    {"midpoint.alpha0.3.tv_m", '<', 1e-3, "m", NONE},
    {"midpoint.alpha1.5.tv_m", '<', 1e-9, "m", NONE},
    {"midpoint.alpha1.5.max_gradient", '<', 1e-6, "", NONE},
    {"midpoint.alpha9.tv_m", '<', 3e-4, "m", NONE},
    {"midpoint.alpha9.sign_changes", '<', 0, "", NONE},
    {"end.alpha0.tv_m", '<', 1e-6, "m", NONE},
    {"end.alpha0.sign_changes", '<', 0, "", NONE},
    {"penalty_1e4.midpoint.alpha0.sign_changes", '>', 20, "", NONE},
    {"penalty_1e4.midpoint.alpha1.5.tv_m", '<', 1e-9, "m", NONE},
    {"penalty_1e4.midpoint.alpha1.5.sign_changes", '<', 0, "", NONE},
    {"penalty_1e5.midpoint.alpha1.5.tv_m", '<', 1e-9, "m", NONE},
    {"barrier.midpoint.alpha0.tv_m", '>', 0.05, "m", NONE},
    {"barrier.midpoint.alpha1.5.tv_m", '<', 1e-3, "m", NONE},
    {"adjoint_error", '<', 1e-8, "", NONE},
    {"rebound.midpoint.spread", '>', 0.5, "", NONE},
    {"rebound.end.most", '<', 0.03, "", NONE},
};

// figure 3 of [damped], whose explicit damper at 63 ms a prototype brought to 0.302 m; 1.3 times that
static const tgBand roll_bands[] = {
    {"points.tau15.distance_m", '>', 0.39, "m", NONE},
    {"points.tau15.over_explicit", '>', 1.3, "", NONE},
    {"radius.error_m", '<', 1e-6, "m", NONE},
};

// the cost rebuilt from its gradient, as [damped] has it; bands from a prototype of the equations
static const tgBand bowl_bands[] = {
    {"rebuilt_error", '<', 1e-3, "", NONE},
    {"end.rebuilt_error", '<', 1e-3, "", NONE},
    {"points.rebuilt_error", '<', 0.15, "", NONE},
    {"points.end.rebuilt_error", '<', 0.15, "", NONE},
    {"no_frame_derivative.rebuilt_error", '>', 0.1, "", NONE},
    {"detection.rebuilt_error", '>', 1, "", NONE},
    {"detection.tv_over_range", '>', 2, "", NONE},
    {"detection_ratio", '>', 10, "", NONE},
    {"gradient_error", '<', 1e-7, "", NONE},
};

// figures 5 and 6 of [damped], without figures; bands from a prototype of the equations
static const tgBand flip_bands[] = {
    {"paper.max_gradient", '<', 10, "1/rad", NONE},
    {"paper.tv_over_range", '<', 2.5, "", NONE},
    {"undamped.max_gradient", '>', 100, "1/rad", NONE},
    {"undamped.tv_over_range", '>', 3.5, "", NONE},
    {"detection.max_gradient", '>', 100, "1/rad", NONE},
    {"detection.tv_over_range", '>', 3.5, "", NONE},
    {"max_gradient_ratio", '>', 20, "", NONE},
    {"end.tv_over_range", '<', 1.6, "", NONE},
    {"end.rebuilt_error", '<', 0.25, "", NONE},
    {"paper.iterations", '<', 7, "", NONE},
    {"end.alpha2.iterations", '<', 7, "", NONE},
    {"end.alpha2.step_us", '<', 50, "us", NONE},
    {"gradient_error", '<', 1e-7, "", NONE},
    {"flip.solved", '>', 1, "", NONE},
};

// table I of [damped], in its own units; bands from a prototype of the equations
static const tgBand cloth_bands[] = {
    {"no_damping.ratio", '<', 0.5, "", NONE},
    {"no_set.ratio", '<', 1, "", NONE},
    {"end.ratio", '<', 0.5, "", NONE},
    {"seconds", '<', 300, "s", NONE},
};

// [barrier] table 2
static const tgBand stack_bands[] = {
    {"paper.mu1e-6.stable_s", '>', 10, "s", NONE},
    {"paper.mu1e-7.stable_s", '>', 10, "s", NONE},
    {"paper.mu1e-10.stable_s", '>', 10, "s", NONE},
    {"paper.mu1e-7.margin_m", '<', 0.0045, "m", 1.47e-3},
    {"paper.margin_exponent", '<', 0.6, "", NONE},
    {"paper.mu1e-7.force_error_N", '<', 1e-4, "N", 6.42e-5},
    {"moment.mu1e-7.stable_s", '>', 10, "s", NONE},
    {"moment.mu1e-7.refined_margin_ratio_error", '<', 0.3, "", NONE},
    {"intersections", '<', 0, "", NONE},
};

static const tgBand billiards_bands[] = {
    {"seeds_solved", '>', 8, "", NONE},
    {"round.seeds_solved", '>', 8, "", NONE},
    {"table.seeds_solved", '>', 8, "", NONE},
    {"hard_round.seeds_solved", '>', 8, "", NONE},
    {"paper.seeds_solved", '>', 8, "", NONE},
    {"verify.fine.within", '>', 0.8, "", NONE},
    {"verify.lcp.within", '>', 0.7, "", NONE},
    {"drift_m", '<', 0.01, "m", NONE},
    {"local.final_over_first", '>', 0.99, "", NONE},
    {"lcp.final_over_first", '>', 0.99, "", NONE},
    {"bundle.final_over_first", '>', 0.9, "", NONE},
    {"intersections", '<', 0, "", NONE},
};

// [barrier] appendix A.6.5: whole frames on the authors' machine, 512 and 6208 triangles
static const tgBand cost_bands[] = {
    {"paper.ms.512", '<', 15, "ms", 600},
    {"paper.ms.6272", '<', 60, "ms", 3180},
    {"moment.ms.512", '<', 22.5, "ms", NONE},
    {"moment.ms.6272", '<', 90, "ms", NONE},
    {"paper.exponent", '<', 0.7, "", 0.67},
    {"brute.ms.512", 0, 0, "ms", 3350},
    {"paper.worst_ms.6272", '<', 60, "ms", NONE},
    {"paper.worst_over_mean.6272", '<', 3, "", NONE},
};

static const tgBand push_bands[] = {
    {"paper.solved", '>', 1, "", NONE},
    {"solved", '>', 1, "", NONE},
    {"seconds", '<', 300, "s", NONE},
    {"verify.fine.error_m", '<', 0.06, "m", NONE},
    {"verify.lcp.error_m", '<', 0.06, "m", NONE},
    {"verify.toi.error_m", '<', 0.06, "m", NONE},
    {"variants_held", '>', 8, "", NONE},
    {"local.solved", '<', 0, "", NONE},
    {"lcp.solved", '<', 0, "", NONE},
    {"intersections", '<', 0, "", NONE},
};

static const tgBand gather_bands[] = {
    {"gather.solved", '>', 10, "", NONE},
    {"sort.solved", '>', 9, "", NONE},
    {"gather.seconds", '<', 600, "s", NONE},
    {"gather.verify.lcp.within", '>', 8, "", NONE},
    {"local.gather.solved", '<', 3, "", NONE},
    {"intersections", '<', 0, "", NONE},
};

static const tgBand ant_bands[] = {
    {"paper.solved", '>', 1, "", NONE},
    {"solved", '>', 1, "", NONE},
    {"final_over_first", '<', 0.1, "", NONE},
    {"verify.fine.error_m", '<', 0.1, "m", NONE},
    {"verify.lcp.error_m", '<', 0.1, "m", NONE},
    {"verify.toi.error_m", '<', 0.1, "m", NONE},
    {"local.final_over_first", '>', 0.9, "", NONE},
    {"intersections", '<', 0, "", NONE},
};

static const tgBand franka_bands[] = {
    {"bunny.solved", '>', 1, "", NONE},
    {"franka.solved", '>', 1, "", NONE},
    {"franka.gradient_error", '<', 1e-6, "", NONE},
    {"franka.adjoint_error", '<', 1e-11, "", NONE},
    {"intersections", '<', 0, "", NONE},
};

static const tgBand sweep_bands[] = {
    {"solved_of_dt", '>', 4, "", NONE},
    {"solved_of_mu", '>', 4, "", NONE},
    {"intersections", '<', 0, "", NONE},
};

// [barrier] figures 12 and 13 have none either; the frame of IPC is that of appendix A.6.5
static const tgBand ablation_bands[] = {
    {"ipc.second_derivative_jump", '>', 0.01, "", NONE},
    {"barrier.second_derivative_jump", '<', 1e-6, "", NONE},
    {"ipc_global.final_over_first", 0, 0, "", NONE},
    {"local.final_over_first", '>', 0.99, "", NONE},
    {"barrier.final_over_first", '<', 0.4, "", NONE},
    {"ipc.frame_ms", 0, 0, "ms", 500},
};

// [softmin] figures 1 and 4 have no figures in numbers
static const tgBand surface_bands[] = {
    {"zero_set_radius_error", '<', 0.02, "", NONE},
    {"box_zero_set_error_m", '<', 0.005, "m", NONE},
};

static const tgBand profile_bands[] = {
    {"second_derivative_jump", '<', 1e-6, "", NONE},
    {"mujoco.second_derivative_jump", '>', 0.01, "", NONE},
    {"gradient_before_contact", '>', 1e-12, "N/m", NONE},
};

// [softmin] figure 7
static const tgBand push_t_bands[] = {
    {"rk4_2ms_4k.dx_cm", '<', 1.2, "cm", 1.2},
    {"rk4_2ms_4k.dtheta_deg", '<', 10.8, "deg", 10.8},
    {"rk4_16ms_4k.dx_cm", '<', 4.6, "cm", 4.6},
    {"rk4_2ms_4k.step_ms", '<', 0.1, "ms", 17.9},
    {"goals_found_by_gradient", '>', 4, "", NONE},
};

// no paper has these: truths in closed form, of a biped's step and a cube's toss their own limits
static const tgBand impact_bands[] = {
    {"lcp.balls.e0.gradient_error", '<', 0.01, "", NONE},
    {"lcp.balls.e0.1.gradient_error", '<', 0.01, "", NONE},
    {"lcp.balls.e0.3.gradient_error", '<', 0.01, "", NONE},
    {"lcp.balls.e0.9.gradient_error", '<', 0.01, "", NONE},
    {"toi.balls.e0.gradient_error", '<', 1e-9, "", NONE},
    {"toi.balls.e0.1.gradient_error", '<', 1e-9, "", NONE},
    {"toi.balls.e0.3.gradient_error", '<', 1e-9, "", NONE},
    {"toi.balls.e0.9.gradient_error", '<', 1e-9, "", NONE},
    {"lcp.balls.order", '>', 0.9, "", NONE},
    {"lcp.floor.order", '>', 0.9, "", NONE},
    {"lcp.sliding.order", '>', 0.9, "", NONE},
    {"lcp.biped.order", '>', 0.9, "", NONE},
    {"lcp.toss.median_error", '<', 0.05, "", NONE},
    {"lcp.toss.toi_median_error", '<', 0.05, "", NONE},
};

#define BANDS(table) table, (int)(sizeof table / sizeof *table)
const tgExperiment tgi_reproductions[] = {
    {"reach", "half-cheetah brings its head to the target of the lcp paper's trajectory scene, from zero controls", tgi_reproduce_reach,
     BANDS(reach_bands)},
    {"LC-R1", "Jacobians of a step of a humanoid, the half-cheetah, the jump-worm and the catapult: time and error against differences",
     tgi_reproduce_jacobians, BANDS(jacobian_bands)},
    {"LC-R2", "cartpole and double cartpole by iLQR, catapult by multiple shooting, each against stochastic search", tgi_reproduce_search,
     BANDS(search_bands)},
    {"LC-R3", "a drone takes off from the ground: exact and complementarity-aware gradient", tgi_reproduce_drone, BANDS(drone_bands)},
    {"LC-R4", "motions through contact by gradient: a catapult hits its target, a worm jumps, a humanoid jumps", tgi_reproduce_motions,
     BANDS(motion_bands)},
    {"BA-R1", "book stacking: twenty planks at their greatest overhang, barrier contact at several mu, both forms, "
              "meshes coarse and fine", tgi_reproduce_stack,
     BANDS(stack_bands)},
    {"BA-R2", "Billiards: a cue ball's place and speed that bring two balls to random places, from out of contact, and "
              "baselines", tgi_reproduce_billiards,
     BANDS(billiards_bands)},
    {"BA-R3", "cost of a frame with friction and gradient against the number of triangles, both forms and brute force", tgi_reproduce_cost,
     BANDS(cost_bands)},
    {"BA-R4", "Push: a rod goes round a box and pushes it to its target, planned over a receding horizon, and "
              "baselines", tgi_reproduce_push,
     BANDS(push_bands)},
    {"BA-R5", "a rod pushes ten cubes together, and ten others apart by their kind, planned over a receding horizon", tgi_reproduce_gather,
     BANDS(gather_bands)},
    {"BA-R6", "Ant-Push: an ant walks to a box and pushes it to its target, and baselines", tgi_reproduce_ant, BANDS(ant_bands)},
    {"BA-R7", "Franka-Push: an arm with a package's meshes pushes a mesh to a place; cost of a frame and gradient "
              "check; ten rabbits that a rod brings together, and their frame under three potentials", tgi_reproduce_meshes,
     BANDS(franka_bands)},
    {"BA-R8", "Push under steps of 0.01 to 0.08 s and mu of 1e-6 to 1e-10", tgi_reproduce_sweep, BANDS(sweep_bands)},
    {"BA-R9", "ablations: the second derivative of the barrier and of IPC's, Push with a potential that has none and with ones that end, "
              "cost of a frame under IPC", tgi_reproduce_ablations, BANDS(ablation_bands)},
    {"SM-R1", "zero sets of the soft signed distance: a box for four widths, wrong normals and corner points, a mesh "
              "that melts into a sphere",
     tgi_reproduce_surfaces, BANDS(surface_bands)},
    {"SM-R2", "force on a small sphere moved past a large one: smooth here, with a kink in MuJoCo, and felt before "
              "contact", tgi_reproduce_force_profile,
     BANDS(profile_bands)},
    {"SM-R3", "a T pushed by a finger: five control sequences found in MuJoCo, rolled out open loop here, and the same "
              "goals found by gradient", tgi_reproduce_push_t,
     BANDS(push_t_bands)},
    {"DA-R1", "a particle falls on a floor: where it is after a second over the height it fell from, for each law, both rules, with and "
              "without the damped gap", tgi_reproduce_drop, BANDS(drop_bands)},
    {"DA-R2", "bodies roll: a ball of one proxy, one of 42 points and a rabbit, under several damping times and with an explicit damper",
     tgi_reproduce_roll,
     BANDS(roll_bands)},
    {"DA-R3", "a moving floor flips a box: cost of where it ends over the floor's tilt, and its gradient, with and without the damped gap",
     tgi_reproduce_flip, BANDS(flip_bands)},
    {"DA-R4", "a ball in a hollow sphere: cost of where it ends over how it starts, and the same rebuilt by integrating its gradient",
     tgi_reproduce_bowl, BANDS(bowl_bands)},
    {"DA-R5", "a cloth is pulled by two corners until the two others are in place: ten seeds, with and without the damped gap and by the "
              "rule end, graded by themselves and by one reference", tgi_reproduce_cloth, BANDS(cloth_bands)},
    {"TO-R1", "two fingers grip a plate of 2 cm and of 2 mm, lift it and let it fall; one that friction just holds, one that slides",
     tgi_reproduce_gripper, BANDS(gripper_bands)},
    {"TO-R2", "the velocity of a ball that brings another one to a point, through an elastic impact", tgi_reproduce_two_balls,
     BANDS(two_ball_bands)},
    {"TO-R3", "prisms slide and stop, two cubes collide and come to rest together: friction at every step", tgi_reproduce_prisms,
     BANDS(prism_bands)},
    {"TO-R4", "collisions in which nothing overlaps or passes: cubes, walls of 1 mm, a ball that bounces for 6 s, bowling",
     tgi_reproduce_collisions, BANDS(collision_bands)},
    {"TO-R5", "a spatula throws a pancake of 1 g and turns it over: its controls by gradient, through what comes loose",
     tgi_reproduce_pancake, BANDS(pancake_bands)},
    {"TO-R6", "a peg comes down beside its hole, is moved over it and in: its forces by gradient, through every impact", tgi_reproduce_peg,
     BANDS(peg_bands)},
    {"X-8", "impacts as the step shrinks: value and gradient of motions whose truth is known, of a biped's step and of a cube's toss",
     tgi_reproduce_impacts, BANDS(impact_bands)},
};
const int tgi_nreproduction = (int)(sizeof tgi_reproductions / sizeof *tgi_reproductions);
