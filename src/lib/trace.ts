/**
 * Traces, through the OpenTelemetry API alone: whose SDK the application registers is its own affair, and without one all of
 * this does nothing and costs next to nothing.
 *
 * A job keeps the trace that enqueued it as a W3C traceparent; each attempt of it is a span below that.
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
  /** A traceparent, or null for a trace of its own; left out: what is active here. */
  parent?: string | null
  /** It takes up what another process has left for it. */
  consumer?: boolean
  attributes?: Attributes
}

export interface Span {
  readonly traceparent: string
  /** What runs in there, however long, is part of it. */
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

/** The active trace; null: none. */
export function traceparent(): string | null {
  const active = trace.getActiveSpan()?.spanContext()
  return active === undefined || !trace.isSpanContextValid(active) ? null : textOf(active)
}

const textOf = ({ traceId, spanId, traceFlags }: { traceId: string; spanId: string; traceFlags: number }) =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`

const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** What is no traceparent begins a trace of its own. */
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

/** Undefined when nobody traces; the facts are asked for only then. */
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

/** A sampler or processor of the application's that throws must not cost a job its outcome. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Below what is active here. */
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
