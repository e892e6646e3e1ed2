/**
 * Writes traces through the OpenTelemetry API alone. The application chooses the SDK; without an SDK this file does nothing and costs
 * almost nothing.
 *
 * A job stores the trace of the enqueue as a W3C traceparent; each attempt of the job is a span below this trace.
 */
import {
  type Attributes,
  context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'

const tracerName = 'retoma'

export interface SpanFacts {
  /** A traceparent; null for a new trace; left out for the active span. */
  parent?: string | null
  /** The span continues work of another process. */
  consumer?: boolean
  attributes?: Attributes
}

export interface Span {
  readonly traceparent: string
  /** Work started in `work` is part of the span, however long the work takes. */
  run<T>(work: () => T): T
  note(name: string, value: string): void
  end(failed?: { message: string; thrown?: unknown }): void
}

let traced: boolean | undefined

/**
 * Reports whether the application has registered an SDK. An SDK that is registered later counts from the next microtask on. The
 * answer is kept until then, because a worker starts dozens of attempts in one turn, and each asks.
 */
function isTraced(): boolean {
  if (traced === undefined) {
    const provider = trace.getTracerProvider()
    traced = !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(tracerName) !== undefined
    queueMicrotask(forgetTraced)
  }
  return traced
}

function forgetTraced(): void {
  traced = undefined
}

/** The active trace; null if there is none. */
export function traceparent(): string | null {
  const active = trace.getActiveSpan()?.spanContext()
  return active === undefined || !trace.isSpanContextValid(active) ? null : textOf(active)
}

const textOf = ({ traceId, spanId, traceFlags }: { traceId: string; spanId: string; traceFlags: number }) =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** A parent without the form of a traceparent begins a new trace. */
function below(parent: string | null | undefined) {
  if (parent === undefined) return context.active()
  const [, traceId, spanId, flags] = form.exec(parent ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags!, 16),
    isRemote: true,
  })
}

/** undefined without an SDK; `facts` is called only with an SDK. */
export function openSpan(name: string, facts: () => SpanFacts): Span | undefined {
  if (!isTraced()) return undefined
  const { parent, consumer = false, attributes = {} } = facts()
  const home = below(parent)
  const kind = consumer ? SpanKind.CONSUMER : SpanKind.INTERNAL
  const span = quietly(() => trace.getTracer(tracerName).startSpan(name, { kind, attributes }, home))
  if (span === undefined) return undefined
  return {
    traceparent: textOf(span.spanContext()),
    run: work => context.with(trace.setSpan(home, span), work),
    note: (key, value) => void quietly(() => span.setAttribute(key, value)),
    end: failed =>
      quietly(() => {
        if (failed?.thrown !== undefined) span.recordException(failed.thrown as Error)
        if (failed !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failed.message })
        span.end()
      }),
  }
}

/** A sampler or processor of the application may throw; the job's outcome must not depend on this. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Runs `work` in a span below the active span. */
export async function inSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  const span = openSpan(name, () => ({}))
  if (span === undefined) return work()
  try {
    const value = await span.run(work)
    span.end()
    return value
  } catch (thrown) {
    span.end({ message: thrown instanceof Error ? thrown.message : String(thrown), thrown })
    throw thrown
  }
}
