/*
 * Types of the Functional Mock-up Interface 2.0 (fmi-standard.org), as far as this FMU needs them, and how its
 * functions are named: a program that links several FMUs defines FMI2_FUNCTION_PREFIX.
 */
#ifndef FMI2_DECLARATIONS_H
#define FMI2_DECLARATIONS_H

#include <stddef.h>

#ifdef FMI2_FUNCTION_PREFIX
#define FMI2_PASTE(a, b) a##b
#define FMI2_JOIN(a, b) FMI2_PASTE(a, b)
#define NAMED(name) FMI2_JOIN(FMI2_FUNCTION_PREFIX, name)
#else
#define NAMED(name) name
#endif

#if defined _WIN32 || defined __CYGWIN__
#define EXPORTED __declspec(dllexport)
#elif defined __GNUC__
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

typedef void *fmi2Component, *fmi2ComponentEnvironment, *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef int fmi2StatusKind;

typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String name, fmi2Status, fmi2String category, fmi2String message, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment environment;
} fmi2CallbackFunctions;

typedef struct {
    fmi2Boolean again, terminate, nominals_changed, values_changed, has_next;
    fmi2Real next;
} fmi2EventInfo;

#endif
