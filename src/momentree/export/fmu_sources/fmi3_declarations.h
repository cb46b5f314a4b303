/*
 * Types of the Functional Mock-up Interface 3.0 (fmi-standard.org), as far as this FMU needs them, and how its
 * functions are named: a program that links several FMUs defines FMI3_FUNCTION_PREFIX.
 */
#ifndef FMI3_DECLARATIONS_H
#define FMI3_DECLARATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef FMI3_FUNCTION_PREFIX
#define FMI3_PASTE(a, b) a##b
#define FMI3_JOIN(a, b) FMI3_PASTE(a, b)
#define NAMED(name) FMI3_JOIN(FMI3_FUNCTION_PREFIX, name)
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

typedef void *fmi3Instance, *fmi3InstanceEnvironment, *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8, fmi3Byte;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean, fmi3Clock;
typedef const char *fmi3String;
typedef const fmi3Byte *fmi3Binary;

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef int fmi3DependencyKind, fmi3IntervalQualifier;

typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);
typedef void (*fmi3AnyCallback)(void); /* of kinds that are never called */

#endif
