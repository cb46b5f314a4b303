/*
 * An instance of the model in memory, and what both versions of the interface do with it.
 * fmu_model.h has sizes and calls of this model: it is written with the FMU. No globals, so instances are independent.
 *
 * Value references: 0 time; then NX states, NX derivatives, NP parameters and inputs, NY outputs, the closure error.
 */
#ifndef INSTANCE_H
#define INSTANCE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu_model.h"

enum { FIRST_STATE = 1, FIRST_DERIVATIVE = FIRST_STATE + NX, FIRST_PARAMETER = FIRST_DERIVATIVE + NX,
       FIRST_OUTPUT = FIRST_PARAMETER + NP, CLOSURE_ERROR = FIRST_OUTPUT + NY, END = CLOSURE_ERROR + (NR > 0) };

typedef enum { INSTANTIATED, INITIALIZATION, EVENT, CONTINUOUS, STEP, TERMINATED } Phase;

typedef void (*Log)(void *instance, int is_error, const char *message);

/* all that changes: what an FMU state is a copy of */
typedef struct {
    double time, stop;
    double state[NX + 1], parameters[NP + 1], work[MODEL_WORK];
    double derivatives[NX + 1], outputs[NY + NR + 1], unit[NX + 1];
    int phase, settled, has_derivatives, has_outputs, has_stop;
} Numbers;

typedef struct {
    Numbers now;
    int is_co_simulation, logs;
    char *name;
    Log log;
    void *environment, *callback; /* of the importer */
} Instance;

static int failed(Instance *instance, const char *message)
{
    if (instance->log)
        instance->log(instance, 1, message);
    return 1;
}

static void begin(Instance *instance)
{
    memset(&instance->now, 0, sizeof instance->now);
    instance->now.time = model_start(instance->now.state, instance->now.parameters);
    instance->now.phase = INSTANTIATED;
}

static Instance *new_instance(const char *name, int is_co_simulation)
{
    Instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return NULL;
    instance->name = calloc(strlen(name) + 1, 1);
    if (!instance->name) {
        free(instance);
        return NULL;
    }
    strcpy(instance->name, name);
    instance->is_co_simulation = is_co_simulation;
    begin(instance);
    return instance;
}

static void free_instance(Instance *instance)
{
    if (instance)
        free(instance->name);
    free(instance);
}

/* copies of the state, and their bytes: a copy that is NULL is made */
static int copy_state(Instance *instance, void **copy, const void *from)
{
    if (!*copy)
        *copy = malloc(sizeof(Numbers));
    if (!*copy)
        return failed(instance, "There is not enough memory for a copy of the state.");
    memcpy(*copy, from, sizeof(Numbers));
    return 0;
}

static void free_state(void **copy)
{
    if (copy) {
        free(*copy);
        *copy = NULL;
    }
}

static int write_state(Instance *instance, const void *copy, void *bytes, size_t size)
{
    if (size < sizeof(Numbers))
        return failed(instance, "There is not enough room for the state.");
    memcpy(bytes, copy, sizeof(Numbers));
    return 0;
}

static int read_state(Instance *instance, const void *bytes, size_t size, void **copy)
{
    if (size != sizeof(Numbers))
        return failed(instance, "These bytes are no state of this FMU.");
    return copy_state(instance, copy, bytes);
}

static void changed(Numbers *now)
{
    now->has_derivatives = now->has_outputs = 0;
}

/* close loops from the values that were set before and during initialization */
static int settle(Instance *instance)
{
    Numbers *now = &instance->now;
    if (now->settled || (now->phase != INITIALIZATION))
        return 0;
    changed(now);
    if (model_close(now->state, now->time, now->parameters, now->work))
        return failed(instance, "The loops of the model cannot be closed from these start values and parameters.");
    now->settled = 1;
    return 0;
}

/* where quaternions, which integrators let drift, have unit length */
static const double *unit_state(Numbers *now)
{
    memcpy(now->unit, now->state, sizeof now->unit);
    model_unit(now->unit);
    return now->unit;
}

static int get_derivatives(Instance *instance, double *to)
{
    Numbers *now = &instance->now;
    if (settle(instance))
        return 1;
    if (!now->has_derivatives)
        model_derivatives(unit_state(now), now->time, now->parameters, now->derivatives);
    now->has_derivatives = 1;
    for (int i = 0; i < NX; i++) {
        if (!isfinite(now->derivatives[i]))
            return failed(instance, "A derivative is not finite.");
        to[i] = now->derivatives[i];
    }
    return 0;
}

static double get_output(Numbers *now, unsigned number)
{
    double largest = 0.0;
    if (!now->has_outputs)
        model_outputs(unit_state(now), now->time, now->parameters, now->outputs);
    now->has_outputs = 1;
    if (number < NY)
        return now->outputs[number];
    for (int i = NY; i < NY + NR; i++)
        largest = fabs(now->outputs[i]) <= largest ? largest : fabs(now->outputs[i]);
    return largest;
}

static int get_value(Instance *instance, unsigned reference, double *value)
{
    Numbers *now = &instance->now;
    double derivatives[NX + 1];
    if (settle(instance))
        return 1;
    if (reference == 0)
        *value = now->time;
    else if (reference < FIRST_DERIVATIVE)
        *value = now->state[reference - FIRST_STATE];
    else if (reference < FIRST_PARAMETER) {
        if (get_derivatives(instance, derivatives))
            return 1;
        *value = derivatives[reference - FIRST_DERIVATIVE];
    } else if (reference < FIRST_OUTPUT)
        *value = now->parameters[reference - FIRST_PARAMETER];
    else if (reference < END)
        *value = get_output(now, reference - FIRST_OUTPUT);
    else
        return failed(instance, "There is no variable with this value reference.");
    return 0;
}

static int set_value(Instance *instance, unsigned reference, double value)
{
    Numbers *now = &instance->now;
    const int is_early = now->phase == INSTANTIATED || now->phase == INITIALIZATION;
    if (!isfinite(value))
        return failed(instance, "Values of variables must be finite.");
    if (reference >= FIRST_STATE && reference < FIRST_DERIVATIVE) {
        if (!is_early)
            return failed(instance, "Start values can be set before the end of the initialization only.");
        now->state[reference - FIRST_STATE] = value;
    } else if (reference >= FIRST_PARAMETER && reference < FIRST_OUTPUT)
        now->parameters[reference - FIRST_PARAMETER] = value;
    else
        return failed(instance, "Only start values, parameters and inputs can be set.");
    now->settled = 0;
    changed(now);
    return 0;
}

static int set_time(Instance *instance, double t)
{
    instance->now.time = t;
    instance->now.settled = 0;
    changed(&instance->now);
    return 0;
}

static int counts_states(Instance *instance, size_t count)
{
    return count == NX || !failed(instance, "The number of continuous states is not that of the model.");
}

static int get_states(Instance *instance, double *to, size_t count)
{
    if (!counts_states(instance, count) || settle(instance))
        return 1;
    memcpy(to, instance->now.state, NX * sizeof *to);
    return 0;
}

static int set_states(Instance *instance, const double *x, size_t count)
{
    if (!counts_states(instance, count))
        return 1;
    memcpy(instance->now.state, x, NX * sizeof *x);
    changed(&instance->now);
    return 0;
}

static int enter_initialization(Instance *instance, double start)
{
    if (instance->now.phase != INSTANTIATED)
        return failed(instance, "The initialization begins after instantiation or reset only.");
    instance->now.phase = INITIALIZATION;
    return set_time(instance, start);
}

static int exit_initialization(Instance *instance)
{
    if (instance->now.phase != INITIALIZATION)
        return failed(instance, "The initialization has not begun.");
    if (settle(instance))
        return 1;
    instance->now.phase = instance->is_co_simulation ? STEP : EVENT;
    return 0;
}

/* of the tolerance of the whole, steps inside take this part */
#define OF_STEPS 1e-4

/* relative tolerance of the whole; 0: that of the model */
static void set_tolerance(Instance *instance, double tolerance)
{
    instance->now.work[1] = fmin(fmax(OF_STEPS * tolerance, 1e-12), 1e-3);
}

static int do_step(Instance *instance, double t, double h)
{
    Numbers *now = &instance->now;
    const double end = t + h, slack = 1e-9 * fmax(1.0, fabs(t));
    if (now->phase != STEP)
        return failed(instance, "Steps are taken after the initialization of a co-simulation only.");
    if (fabs(t - now->time) > slack)
        return failed(instance, "The step does not begin where the last one ended.");
    if (!(h >= 0.0) || (now->has_stop && end > now->stop + slack))
        return failed(instance, "The step size is negative, or the step ends behind the stop time.");
    changed(now);
    switch (end > now->time ? model_step(now->state, now->time, end - now->time, now->parameters, now->work) : 0) {
    case 0:
        now->time = end;
        return 0;
    case MODEL_OPEN:
        return failed(instance, "The loops of the model cannot be closed: a position out of reach, or a singular one.");
    case MODEL_NOT_FINITE:
        return failed(instance, "The derivatives are not finite.");
    default:
        return failed(instance, "The step size fell below the resolution of time.");
    }
}

#endif
