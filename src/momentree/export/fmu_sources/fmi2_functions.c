/* The functions of FMI 2.0 for model exchange and co-simulation; instance.h does the work. */

#include "fmi2_declarations.h"
#include "instance.h"

#define FUNCTION(name) EXPORTED fmi2Status NAMED(name)
#define DO(work) ((work) ? fmi2Error : fmi2OK)
#define THIS ((Instance *)instance)
#define UNUSED(argument) ((void)(argument))

typedef const fmi2ValueReference *References;

static void log_message(void *instance, int is_error, const char *message)
{
    const fmi2CallbackFunctions *callbacks = THIS->callback;
    if (callbacks && callbacks->logger && (THIS->logs || is_error))
        callbacks->logger(THIS->environment, THIS->name, is_error ? fmi2Error : fmi2OK, "logStatusError", message);
}

/* --- life --- */

EXPORTED const char *NAMED(fmi2GetTypesPlatform)(void)
{
    return "default";
}

EXPORTED const char *NAMED(fmi2GetVersion)(void)
{
    return "2.0";
}

FUNCTION(fmi2SetDebugLogging)(fmi2Component instance, fmi2Boolean on, size_t count, const fmi2String categories[])
{
    UNUSED(count), UNUSED(categories);
    THIS->logs = on;
    return fmi2OK;
}

EXPORTED fmi2Component NAMED(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                              const fmi2CallbackFunctions *callbacks, fmi2Boolean visible,
                                              fmi2Boolean logs)
{
    const int is_known = type == fmi2CoSimulation ? HAS_CO_SIMULATION : HAS_MODEL_EXCHANGE;
    Instance *instance;
    UNUSED(resources), UNUSED(visible);
    if (!is_known || !name || !guid || strcmp(guid, MODEL_TOKEN)) {
        if (callbacks && callbacks->logger)
            callbacks->logger(callbacks->environment, name ? name : "", fmi2Error, "logStatusError",
                              is_known ? "The GUID is not that of this FMU." : "This FMU is of the other kind.");
        return NULL;
    }
    instance = new_instance(name, type == fmi2CoSimulation);
    if (instance) {
        instance->callback = (void *)callbacks;
        instance->environment = callbacks ? callbacks->environment : NULL;
        instance->logs = logs;
        instance->log = log_message;
    }
    return instance;
}

EXPORTED void NAMED(fmi2FreeInstance)(fmi2Component instance)
{
    free_instance(instance);
}

FUNCTION(fmi2SetupExperiment)(fmi2Component instance, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                              fmi2Boolean has_stop, fmi2Real stop)
{
    if (has_tolerance)
        set_tolerance(THIS, tolerance);
    THIS->now.has_stop = has_stop;
    THIS->now.stop = stop;
    return DO(set_time(THIS, start));
}

FUNCTION(fmi2EnterInitializationMode)(fmi2Component instance)
{
    return DO(enter_initialization(THIS, THIS->now.time));
}

FUNCTION(fmi2ExitInitializationMode)(fmi2Component instance)
{
    return DO(exit_initialization(THIS));
}

FUNCTION(fmi2Terminate)(fmi2Component instance)
{
    THIS->now.phase = TERMINATED;
    return fmi2OK;
}

FUNCTION(fmi2Reset)(fmi2Component instance)
{
    begin(THIS);
    return fmi2OK;
}

/* --- values --- */

FUNCTION(fmi2GetReal)(fmi2Component instance, References references, size_t count, fmi2Real values[])
{
    for (size_t i = 0; i < count; i++)
        if (get_value(THIS, references[i], values + i))
            return fmi2Error;
    return fmi2OK;
}

FUNCTION(fmi2SetReal)(fmi2Component instance, References references, size_t count, const fmi2Real values[])
{
    for (size_t i = 0; i < count; i++)
        if (set_value(THIS, references[i], values[i]))
            return fmi2Error;
    return fmi2OK;
}

/* all variables are real: of the other types there is nothing to get or set */
#define NONE(count) DO((count) > 0 && failed(THIS, "There are no variables of this type."))
#define WITHOUT(type)                                                                                                \
    FUNCTION(fmi2Get##type)(fmi2Component instance, References references, size_t count, fmi2##type values[])        \
    {                                                                                                                \
        UNUSED(references), UNUSED(values);                                                                          \
        return NONE(count);                                                                                          \
    }                                                                                                                \
    FUNCTION(fmi2Set##type)(fmi2Component instance, References references, size_t count, const fmi2##type values[])  \
    {                                                                                                                \
        UNUSED(references), UNUSED(values);                                                                          \
        return NONE(count);                                                                                          \
    }

WITHOUT(Integer)
WITHOUT(Boolean)
WITHOUT(String)

/* --- copies of the state --- */

FUNCTION(fmi2GetFMUstate)(fmi2Component instance, fmi2FMUstate *copy)
{
    return DO(copy_state(THIS, copy, &THIS->now));
}

FUNCTION(fmi2SetFMUstate)(fmi2Component instance, fmi2FMUstate copy)
{
    memcpy(&THIS->now, copy, sizeof(Numbers));
    return fmi2OK;
}

FUNCTION(fmi2FreeFMUstate)(fmi2Component instance, fmi2FMUstate *copy)
{
    UNUSED(instance);
    free_state(copy);
    return fmi2OK;
}

FUNCTION(fmi2SerializedFMUstateSize)(fmi2Component instance, fmi2FMUstate copy, size_t *size)
{
    UNUSED(instance), UNUSED(copy);
    *size = sizeof(Numbers);
    return fmi2OK;
}

FUNCTION(fmi2SerializeFMUstate)(fmi2Component instance, fmi2FMUstate copy, fmi2Byte bytes[], size_t size)
{
    return DO(write_state(THIS, copy, bytes, size));
}

FUNCTION(fmi2DeSerializeFMUstate)(fmi2Component instance, const fmi2Byte bytes[], size_t size, fmi2FMUstate *copy)
{
    return DO(read_state(THIS, bytes, size, copy));
}

/* --- what this FMU does not offer, as modelDescription.xml says --- */

#define REFUSED DO(failed(THIS, "This FMU does not offer that function."))

FUNCTION(fmi2GetDirectionalDerivative)(fmi2Component instance, References unknowns, size_t unknown_count,
                                       References knowns, size_t known_count, const fmi2Real seed[], fmi2Real values[])
{
    UNUSED(unknowns), UNUSED(unknown_count), UNUSED(knowns), UNUSED(known_count), UNUSED(seed), UNUSED(values);
    return REFUSED;
}

FUNCTION(fmi2SetRealInputDerivatives)(fmi2Component instance, References references, size_t count,
                                      const fmi2Integer orders[], const fmi2Real values[])
{
    UNUSED(references), UNUSED(count), UNUSED(orders), UNUSED(values);
    return REFUSED;
}

FUNCTION(fmi2GetRealOutputDerivatives)(fmi2Component instance, References references, size_t count,
                                       const fmi2Integer orders[], fmi2Real values[])
{
    UNUSED(references), UNUSED(count), UNUSED(orders), UNUSED(values);
    return REFUSED;
}

/* --- model exchange --- */

FUNCTION(fmi2EnterEventMode)(fmi2Component instance)
{
    THIS->now.phase = EVENT;
    return fmi2OK;
}

FUNCTION(fmi2NewDiscreteStates)(fmi2Component instance, fmi2EventInfo *info)
{
    UNUSED(instance);
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

FUNCTION(fmi2EnterContinuousTimeMode)(fmi2Component instance)
{
    THIS->now.phase = CONTINUOUS;
    return fmi2OK;
}

FUNCTION(fmi2CompletedIntegratorStep)(fmi2Component instance, fmi2Boolean final, fmi2Boolean *event,
                                      fmi2Boolean *terminate)
{
    UNUSED(instance), UNUSED(final);
    *event = *terminate = 0;
    return fmi2OK;
}

FUNCTION(fmi2SetTime)(fmi2Component instance, fmi2Real time)
{
    return DO(set_time(THIS, time));
}

FUNCTION(fmi2SetContinuousStates)(fmi2Component instance, const fmi2Real states[], size_t count)
{
    return DO(set_states(THIS, states, count));
}

FUNCTION(fmi2GetDerivatives)(fmi2Component instance, fmi2Real derivatives[], size_t count)
{
    return DO(!counts_states(THIS, count) || get_derivatives(THIS, derivatives));
}

FUNCTION(fmi2GetEventIndicators)(fmi2Component instance, fmi2Real indicators[], size_t count)
{
    UNUSED(indicators);
    return NONE(count);
}

FUNCTION(fmi2GetContinuousStates)(fmi2Component instance, fmi2Real states[], size_t count)
{
    return DO(get_states(THIS, states, count));
}

FUNCTION(fmi2GetNominalsOfContinuousStates)(fmi2Component instance, fmi2Real nominals[], size_t count)
{
    UNUSED(instance);
    for (size_t i = 0; i < count; i++)
        nominals[i] = 1.0;
    return fmi2OK;
}

/* --- co-simulation --- */

FUNCTION(fmi2DoStep)(fmi2Component instance, fmi2Real time, fmi2Real size, fmi2Boolean final)
{
    UNUSED(final);
    return DO(do_step(THIS, time, size));
}

FUNCTION(fmi2CancelStep)(fmi2Component instance)
{
    return REFUSED;
}

/* steps are done when they return, so that there is no other status than the last time */
FUNCTION(fmi2GetRealStatus)(fmi2Component instance, const fmi2StatusKind kind, fmi2Real *value)
{
    enum { LAST_SUCCESSFUL_TIME = 2 };
    *value = THIS->now.time;
    return kind == LAST_SUCCESSFUL_TIME ? fmi2OK : fmi2Discard;
}

#define WITHOUT_STATUS(name, type)                                                                                   \
    FUNCTION(name)(fmi2Component instance, const fmi2StatusKind kind, type *value)                                   \
    {                                                                                                                \
        UNUSED(instance), UNUSED(kind), UNUSED(value);                                                               \
        return fmi2Discard;                                                                                          \
    }

WITHOUT_STATUS(fmi2GetStatus, fmi2Status)
WITHOUT_STATUS(fmi2GetIntegerStatus, fmi2Integer)
WITHOUT_STATUS(fmi2GetBooleanStatus, fmi2Boolean)
WITHOUT_STATUS(fmi2GetStringStatus, fmi2String)
