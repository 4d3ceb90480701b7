// ipopt.c: nlp.h by Ipopt's C interface [Ipopt], with MUMPS for its linear systems and a limited-memory Hessian. The
// one file that knows Ipopt.
#include "optim/nlp.h"

#ifndef TG_IPOPT

bool tgi_nlp_available(void) { return false; }

tgStatus tgi_nlp_solve(tgNlp *nlp, tgError *error) {
  (void)nlp;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "method shooting needs Ipopt, which this build is without: install coinor-libipopt-dev and build "
                   "again (-DTG_WITH_IPOPT=ON insists on it; for Python pip install the source archive, docs/python.md)");
}

#else

#include <IpStdCInterface.h>

bool tgi_nlp_available(void) { return true; }

static Bool eval_f(Index n, Number *x, Bool new_x, Number *f, UserDataPtr data) {
  tgNlp *p = data;
  (void)n, (void)new_x;
  return p->value(p->ctx, x, f, NULL);
}

static Bool eval_grad(Index n, Number *x, Bool new_x, Number *g, UserDataPtr data) {
  tgNlp *p = data;
  (void)n, (void)new_x;
  return p->derivative(p->ctx, x, g, NULL);
}

static Bool eval_g(Index n, Number *x, Bool new_x, Index m, Number *c, UserDataPtr data) {
  tgNlp *p = data;
  (void)n, (void)new_x, (void)m;
  return p->value(p->ctx, x, NULL, c);
}

static Bool eval_jac(Index n, Number *x, Bool new_x, Index m, Index count, Index *row, Index *column, Number *values, UserDataPtr data) {
  tgNlp *p = data;
  (void)n, (void)new_x, (void)m, (void)count;
  if (values != NULL) return p->derivative(p->ctx, x, NULL, values);
  p->structure(p->ctx, row, column);
  return TRUE;
}

static Bool eval_h(Index n, Number *x, Bool new_x, Number factor, Index m, Number *lambda, Bool new_lambda, Index count, Index *row,
                   Index *column, Number *values, UserDataPtr data) {
  (void)n, (void)x, (void)new_x, (void)factor, (void)m, (void)lambda, (void)new_lambda, (void)count, (void)row,
      (void)column, (void)values, (void)data;
  return FALSE;   // limited-memory: never asked for
}

static Bool intermediate(Index mode, Index iteration, Number f, Number primal, Number dual, Number mu, Number norm,
                         Number regularization, Number a_dual, Number a_primal, Index trials, UserDataPtr data) {
  tgNlp *p = data;
  (void)mode, (void)f, (void)dual, (void)mu, (void)norm, (void)regularization, (void)a_dual, (void)a_primal, (void)trials;
  return p->iteration(p->ctx, iteration, primal);
}

static bool set_options(IpoptProblem ip, const tgNlp *p) {
  // an empty name: no ipopt.opt of the folder that the user happens to be in
  bool ok = AddIpoptStrOption(ip, "option_file_name", "") && AddIpoptIntOption(ip, "print_level", 0) &&
            AddIpoptStrOption(ip, "sb", "yes") && AddIpoptStrOption(ip, "linear_solver", "mumps") &&
            AddIpoptStrOption(ip, "hessian_approximation", "limited-memory") &&
            AddIpoptIntOption(ip, "limited_memory_max_history", p->memory) &&
            AddIpoptIntOption(ip, "max_iter", p->iterations) && AddIpoptNumOption(ip, "tol", p->tolerance) &&
            AddIpoptNumOption(ip, "constr_viol_tol", p->tolerance);
  // bounds are kept to the last bit, and "acceptable" points do not end a run before it is done
  return ok && AddIpoptNumOption(ip, "bound_relax_factor", 0) && AddIpoptIntOption(ip, "acceptable_iter", 0);
}

static const char *ending(enum ApplicationReturnStatus rc) {
  switch (rc) {
    case Infeasible_Problem_Detected: return "it found a point where the shots cannot be joined any better";
    case Search_Direction_Becomes_Too_Small: return "its steps became too small";
    case Diverging_Iterates: return "its iterates diverge";
    case Maximum_Iterations_Exceeded: return "its iterations are used up";
    case Restoration_Failed: return "it could not join the shots";
    case Error_In_Step_Computation: return "it could compute no step";
    case Invalid_Number_Detected: return "the motion or its derivative cannot be had at a point where it has to be";
    case Not_Enough_Degrees_Of_Freedom: return "there are more constraints than variables";
    default: return "an unexpected reason";
  }
}

tgStatus tgi_nlp_solve(tgNlp *p, tgError *error) {
  // the constraints' bounds are all 0, and copied
  IpoptProblem ip = CreateIpoptProblem(p->n, (Number *)p->low, (Number *)p->high, p->m, (Number *)p->zero,
                                       (Number *)p->zero, p->njacobian, 0, 0, eval_f, eval_g, eval_grad, eval_jac,
                                       eval_h);
  if (ip == NULL) return tgi_error(error, TG_ERR_INTERNAL, "Ipopt does not take the problem: %d variables, %d constraints", p->n, p->m);
  tgStatus st = TG_OK;
  if (!set_options(ip, p) || !SetIntermediateCallback(ip, intermediate))
    st = tgi_error(error, TG_ERR_INTERNAL, "Ipopt does not take an option");
  if (st == TG_OK) {
    enum ApplicationReturnStatus rc = IpoptSolve(ip, p->x, NULL, NULL, NULL, NULL, NULL, p);
    if (rc == Insufficient_Memory) st = tgi_error(error, TG_ERR_MEMORY, "out of memory in Ipopt");
    else if (rc != Solve_Succeeded && rc != User_Requested_Stop)
      st = tgi_error(error, TG_NOT_CONVERGED, "Ipopt ended before the problem was solved: %s (%d)", ending(rc), (int)rc);
  }
  FreeIpoptProblem(ip);
  return st;
}

#endif
