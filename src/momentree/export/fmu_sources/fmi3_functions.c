/* The functions of FMI 3.0 for model exchange and co-simulation; instance.h does the work. */

#include "fmi3_declarations.h"
#include "instance.h"

#define FUNCTION(name) EXPORTED fmi3Status NAMED(name)
#define DO(work) ((work) ? fmi3Error : fmi3OK)
#define THIS ((Instance *)instance)
#define UNUSED(argument) ((void)(argument))

typedef const fmi3ValueReference *References;

static void log_message(void *instance, int is_error, const char *message)
{
    fmi3LogMessageCallback callback;
    memcpy(&callback, &THIS->callback, sizeof callback);
    if (callback && (THIS->logs || is_error))
        callback(THIS->environment, is_error ? fmi3Error : fmi3OK, "logStatusError", message);
}

static fmi3Instance instantiate(fmi3String name, fmi3String token, int is_co_simulation, int logs,
                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback callback)
{
    Instance *instance;
    if (!name || !token || strcmp(token, MODEL_TOKEN)) {
        if (callback)
            callback(environment, fmi3Error, "logStatusError", "The instantiation token is not that of this FMU.");
        return NULL;
    }
    instance = new_instance(name, is_co_simulation);
    if (instance) {
        memcpy(&instance->callback, &callback, sizeof callback);
        instance->environment = environment;
        instance->logs = logs;
        instance->log = log_message;
    }
    return instance;
}

/* --- life --- */

EXPORTED fmi3String NAMED(fmi3GetVersion)(void)
{
    return "3.0";
}

FUNCTION(fmi3SetDebugLogging)(fmi3Instance instance, fmi3Boolean on, size_t count, const fmi3String categories[])
{
    UNUSED(count), UNUSED(categories);
    THIS->logs = on;
    return fmi3OK;
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateModelExchange)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logs,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback callback)
{
    UNUSED(resources), UNUSED(visible);
    return HAS_MODEL_EXCHANGE ? instantiate(name, token, 0, logs, environment, callback) : NULL;
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logs,
    fmi3Boolean uses_events, fmi3Boolean early_return, References intermediate, size_t count,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback callback, fmi3AnyCallback intermediate_update)
{
    UNUSED(resources), UNUSED(visible), UNUSED(early_return), UNUSED(intermediate), UNUSED(intermediate_update);
    if (uses_events || count) {
        if (callback)
            callback(environment, fmi3Error, "logStatusError", "There is no event mode, and no intermediate update.");
        return NULL;
    }
    return HAS_CO_SIMULATION ? instantiate(name, token, 1, logs, environment, callback) : NULL;
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logs,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback callback, fmi3AnyCallback update,
    fmi3AnyCallback lock, fmi3AnyCallback unlock)
{
    UNUSED(name), UNUSED(token), UNUSED(resources), UNUSED(visible), UNUSED(logs), UNUSED(environment);
    UNUSED(callback), UNUSED(update), UNUSED(lock), UNUSED(unlock);
    return NULL;
}

EXPORTED void NAMED(fmi3FreeInstance)(fmi3Instance instance)
{
    free_instance(instance);
}

FUNCTION(fmi3EnterInitializationMode)(fmi3Instance instance, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                      fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop)
{
    if (has_tolerance)
        set_tolerance(THIS, tolerance);
    THIS->now.has_stop = has_stop;
    THIS->now.stop = stop;
    return DO(enter_initialization(THIS, start));
}

FUNCTION(fmi3ExitInitializationMode)(fmi3Instance instance)
{
    return DO(exit_initialization(THIS));
}

FUNCTION(fmi3EnterEventMode)(fmi3Instance instance)
{
    THIS->now.phase = EVENT;
    return fmi3OK;
}

FUNCTION(fmi3Terminate)(fmi3Instance instance)
{
    THIS->now.phase = TERMINATED;
    return fmi3OK;
}

FUNCTION(fmi3Reset)(fmi3Instance instance)
{
    begin(THIS);
    return fmi3OK;
}

/* --- values --- */

FUNCTION(fmi3GetFloat64)(fmi3Instance instance, References references, size_t count, fmi3Float64 values[], size_t size)
{
    if (count != size)
        return DO(failed(THIS, "Variables are scalars: give as many values as references."));
    for (size_t i = 0; i < count; i++)
        if (get_value(THIS, references[i], values + i))
            return fmi3Error;
    return fmi3OK;
}

FUNCTION(fmi3SetFloat64)(fmi3Instance instance, References references, size_t count, const fmi3Float64 values[],
                         size_t size)
{
    if (count != size)
        return DO(failed(THIS, "Variables are scalars: give as many values as references."));
    for (size_t i = 0; i < count; i++)
        if (set_value(THIS, references[i], values[i]))
            return fmi3Error;
    return fmi3OK;
}

/* all variables are of type Float64: of the others there is nothing to get or set */
#define NONE(count) DO((count) > 0 && failed(THIS, "There are no variables of this type."))
#define WITHOUT(type)                                                                                                \
    FUNCTION(fmi3Get##type)(fmi3Instance instance, References references, size_t count, fmi3##type values[],         \
                            size_t size)                                                                             \
    {                                                                                                                \
        UNUSED(references), UNUSED(values), UNUSED(size);                                                            \
        return NONE(count);                                                                                          \
    }                                                                                                                \
    FUNCTION(fmi3Set##type)(fmi3Instance instance, References references, size_t count, const fmi3##type values[],   \
                            size_t size)                                                                             \
    {                                                                                                                \
        UNUSED(references), UNUSED(values), UNUSED(size);                                                            \
        return NONE(count);                                                                                          \
    }

WITHOUT(Float32)
WITHOUT(Int8)
WITHOUT(UInt8)
WITHOUT(Int16)
WITHOUT(UInt16)
WITHOUT(Int32)
WITHOUT(UInt32)
WITHOUT(Int64)
WITHOUT(UInt64)
WITHOUT(Boolean)
WITHOUT(String)

FUNCTION(fmi3GetBinary)(fmi3Instance instance, References references, size_t count, size_t sizes[],
                        fmi3Binary values[], size_t size)
{
    UNUSED(references), UNUSED(sizes), UNUSED(values), UNUSED(size);
    return NONE(count);
}

FUNCTION(fmi3SetBinary)(fmi3Instance instance, References references, size_t count, const size_t sizes[],
                        const fmi3Binary values[], size_t size)
{
    UNUSED(references), UNUSED(sizes), UNUSED(values), UNUSED(size);
    return NONE(count);
}

FUNCTION(fmi3GetClock)(fmi3Instance instance, References references, size_t count, fmi3Clock values[])
{
    UNUSED(references), UNUSED(values);
    return NONE(count);
}

FUNCTION(fmi3SetClock)(fmi3Instance instance, References references, size_t count, const fmi3Clock values[])
{
    UNUSED(references), UNUSED(values);
    return NONE(count);
}

/* --- what this FMU does not offer, as modelDescription.xml says --- */

#define REFUSED DO(failed(THIS, "This FMU does not offer that function."))

FUNCTION(fmi3GetNumberOfVariableDependencies)(fmi3Instance instance, fmi3ValueReference reference, size_t *count)
{
    UNUSED(reference), UNUSED(count);
    return REFUSED;
}

FUNCTION(fmi3GetVariableDependencies)(fmi3Instance instance, fmi3ValueReference dependent, size_t elements[],
                                      fmi3ValueReference independents[], size_t of[], fmi3DependencyKind kinds[],
                                      size_t count)
{
    UNUSED(dependent), UNUSED(elements), UNUSED(independents), UNUSED(of), UNUSED(kinds), UNUSED(count);
    return REFUSED;
}

#define WITHOUT_DERIVATIVE(name)                                                                                     \
    FUNCTION(name)(fmi3Instance instance, References unknowns, size_t unknown_count, References knowns,              \
                   size_t known_count, const fmi3Float64 seed[], size_t seeds, fmi3Float64 values[], size_t size)    \
    {                                                                                                                \
        UNUSED(unknowns), UNUSED(unknown_count), UNUSED(knowns), UNUSED(known_count);                                \
        UNUSED(seed), UNUSED(seeds), UNUSED(values), UNUSED(size);                                                   \
        return REFUSED;                                                                                              \
    }

WITHOUT_DERIVATIVE(fmi3GetDirectionalDerivative)
WITHOUT_DERIVATIVE(fmi3GetAdjointDerivative)

FUNCTION(fmi3EnterConfigurationMode)(fmi3Instance instance)
{
    return REFUSED;
}

FUNCTION(fmi3ExitConfigurationMode)(fmi3Instance instance)
{
    return REFUSED;
}

FUNCTION(fmi3GetIntervalDecimal)(fmi3Instance instance, References clocks, size_t count, fmi3Float64 intervals[],
                                 fmi3IntervalQualifier qualifiers[])
{
    UNUSED(clocks), UNUSED(intervals), UNUSED(qualifiers);
    return NONE(count);
}

FUNCTION(fmi3GetIntervalFraction)(fmi3Instance instance, References clocks, size_t count, fmi3UInt64 counters[],
                                  fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
{
    UNUSED(clocks), UNUSED(counters), UNUSED(resolutions), UNUSED(qualifiers);
    return NONE(count);
}

#define OF_CLOCKS(name, kind)                                                                                        \
    FUNCTION(fmi3##name##Decimal)(fmi3Instance instance, References clocks, size_t count, kind fmi3Float64 values[]) \
    {                                                                                                                \
        UNUSED(clocks), UNUSED(values);                                                                              \
        return NONE(count);                                                                                          \
    }                                                                                                                \
    FUNCTION(fmi3##name##Fraction)(fmi3Instance instance, References clocks, size_t count,                           \
                                   kind fmi3UInt64 counters[], kind fmi3UInt64 resolutions[])                        \
    {                                                                                                                \
        UNUSED(clocks), UNUSED(counters), UNUSED(resolutions);                                                       \
        return NONE(count);                                                                                          \
    }

#define CHANGING
OF_CLOCKS(GetShift, CHANGING)
OF_CLOCKS(SetInterval, const)
OF_CLOCKS(SetShift, const)

FUNCTION(fmi3ActivateModelPartition)(fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 time)
{
    UNUSED(clock), UNUSED(time);
    return REFUSED;
}

/* --- copies of the state --- */

FUNCTION(fmi3GetFMUState)(fmi3Instance instance, fmi3FMUState *copy)
{
    return DO(copy_state(THIS, copy, &THIS->now));
}

FUNCTION(fmi3SetFMUState)(fmi3Instance instance, fmi3FMUState copy)
{
    memcpy(&THIS->now, copy, sizeof(Numbers));
    return fmi3OK;
}

FUNCTION(fmi3FreeFMUState)(fmi3Instance instance, fmi3FMUState *copy)
{
    UNUSED(instance);
    free_state(copy);
    return fmi3OK;
}

FUNCTION(fmi3SerializedFMUStateSize)(fmi3Instance instance, fmi3FMUState copy, size_t *size)
{
    UNUSED(instance), UNUSED(copy);
    *size = sizeof(Numbers);
    return fmi3OK;
}

FUNCTION(fmi3SerializeFMUState)(fmi3Instance instance, fmi3FMUState copy, fmi3Byte bytes[], size_t size)
{
    return DO(write_state(THIS, copy, bytes, size));
}

FUNCTION(fmi3DeserializeFMUState)(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *copy)
{
    return DO(read_state(THIS, bytes, size, copy));
}

/* --- model exchange --- */

FUNCTION(fmi3EvaluateDiscreteStates)(fmi3Instance instance)
{
    UNUSED(instance);
    return fmi3OK;
}

FUNCTION(fmi3UpdateDiscreteStates)(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate,
                                   fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *has_next,
                                   fmi3Float64 *next)
{
    UNUSED(instance), UNUSED(next);
    *again = *terminate = *nominals = *values = *has_next = false;
    return fmi3OK;
}

FUNCTION(fmi3EnterContinuousTimeMode)(fmi3Instance instance)
{
    THIS->now.phase = CONTINUOUS;
    return fmi3OK;
}

FUNCTION(fmi3CompletedIntegratorStep)(fmi3Instance instance, fmi3Boolean final, fmi3Boolean *event,
                                      fmi3Boolean *terminate)
{
    UNUSED(instance), UNUSED(final);
    *event = *terminate = false;
    return fmi3OK;
}

FUNCTION(fmi3SetTime)(fmi3Instance instance, fmi3Float64 time)
{
    return DO(set_time(THIS, time));
}

FUNCTION(fmi3SetContinuousStates)(fmi3Instance instance, const fmi3Float64 states[], size_t count)
{
    return DO(set_states(THIS, states, count));
}

FUNCTION(fmi3GetContinuousStateDerivatives)(fmi3Instance instance, fmi3Float64 derivatives[], size_t count)
{
    return DO(!counts_states(THIS, count) || get_derivatives(THIS, derivatives));
}

FUNCTION(fmi3GetEventIndicators)(fmi3Instance instance, fmi3Float64 indicators[], size_t count)
{
    UNUSED(indicators);
    return NONE(count);
}

FUNCTION(fmi3GetContinuousStates)(fmi3Instance instance, fmi3Float64 states[], size_t count)
{
    return DO(get_states(THIS, states, count));
}

FUNCTION(fmi3GetNominalsOfContinuousStates)(fmi3Instance instance, fmi3Float64 nominals[], size_t count)
{
    UNUSED(instance);
    for (size_t i = 0; i < count; i++)
        nominals[i] = 1.0;
    return fmi3OK;
}

FUNCTION(fmi3GetNumberOfEventIndicators)(fmi3Instance instance, size_t *count)
{
    UNUSED(instance);
    *count = 0;
    return fmi3OK;
}

FUNCTION(fmi3GetNumberOfContinuousStates)(fmi3Instance instance, size_t *count)
{
    UNUSED(instance);
    *count = NX;
    return fmi3OK;
}

/* --- co-simulation --- */

FUNCTION(fmi3EnterStepMode)(fmi3Instance instance)
{
    THIS->now.phase = STEP;
    return fmi3OK;
}

FUNCTION(fmi3GetOutputDerivatives)(fmi3Instance instance, References references, size_t count,
                                   const fmi3Int32 orders[], fmi3Float64 values[], size_t size)
{
    UNUSED(references), UNUSED(count), UNUSED(orders), UNUSED(values), UNUSED(size);
    return REFUSED;
}

FUNCTION(fmi3DoStep)(fmi3Instance instance, fmi3Float64 time, fmi3Float64 size, fmi3Boolean final, fmi3Boolean *event,
                     fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    const int status = do_step(THIS, time, size);
    UNUSED(final);
    *event = *terminate = *early = false;
    *last = THIS->now.time;
    return DO(status);
}
