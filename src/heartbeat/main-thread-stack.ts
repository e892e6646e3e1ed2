/**
 * Reads the stack and the job of the main thread from another thread, through the inspector, in some tens of milliseconds. V8 does not stop
 * in native code (a hash, a huge JSON); the result says so.
 *
 * Invariant: the main thread always continues: the inspector session ends within the deadline, and its end resumes the main thread.
 */
import type { Session } from 'node:inspector'
import { moduleFolder } from '../lib/package-root.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { hookName, type RunningJob } from './current-job-hook.ts'

export interface MainThreadStack {
  /** The innermost frame first; null: native code, or no answer. */
  stack: string | null
  /** The job of the running code, if known. */
  job: RunningJob | null
}

interface Frame {
  callFrameId: string
  functionName: string
  url: string
  location: { scriptId: string; lineNumber: number }
}

const mostFrames = 20
const mostAsked = 5
const expression = `globalThis[Symbol.for('${hookName}')]?.()`

export async function readMainThreadStack(deadlineMs: number): Promise<MainThreadStack> {
  const { Session } = await import('node:inspector')
  const session = new Session()
  try {
    return await withDeadline(stackOf(session), deadlineMs, () => new Error('in native code'))
  } catch {
    return { stack: null, job: null }
  } finally {
    // Resumes a paused main thread.
    session.disconnect()
  }
}

async function stackOf(session: Session): Promise<MainThreadStack> {
  session.connectToMainThread()
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => void urls.set(params.scriptId, params.url))
  const paused = new Promise<Frame[]>(resolve =>
    session.once('Debugger.paused', ({ params }) => resolve(params.callFrames as Frame[])),
  )
  await ask(session, 'Debugger.enable')
  await ask(session, 'Debugger.pause')
  const frames = await paused
  const stack = worthTelling(frames, frame => fileOf(frame, urls))
    .slice(0, mostFrames)
    .map(
      frame =>
        `${frame.functionName || '(anonymous)'} (${shortPath(fileOf(frame, urls))}:${frame.location.lineNumber + 1})`,
    )
    .join(' < ')
  if (frames.length === 0) return { stack: null, job: null }
  const job = await jobOf(session, frames)
  await ask(session, 'Debugger.resume')
  return { stack, job }
}

/** Evaluates in the frames from the innermost on: frames of Node's own code cannot see our hook. */
async function jobOf(session: Session, frames: readonly Frame[]): Promise<RunningJob | null> {
  for (const { callFrameId } of frames.slice(0, mostAsked)) {
    const given = { callFrameId, expression, silent: true, returnByValue: true }
    const { result } = await ask<{ result: { value?: unknown } }>(session, 'Debugger.evaluateOnCallFrame', given)
    if (typeof result.value === 'string') return JSON.parse(result.value) as RunningJob
  }
  return null
}

const ask = <Answer>(session: Session, method: string, given: object = {}): Promise<Answer> =>
  new Promise((resolve, reject) =>
    session.post(method, given, (error: Error | null, answer?: object) =>
      error ? reject(error) : resolve(answer as Answer),
    ),
  )

/** Removes the outer frames of Retoma and Node that only led to the handler, because the cause is never there. */
export function worthTelling<F>(frames: readonly F[], fileOf: (frame: F) => string): readonly F[] {
  const last = frames.findLastIndex(frame => !/^node:/.test(fileOf(frame)) && !fileOf(frame).startsWith(ours))
  return last < 0 ? frames : frames.slice(0, last + 1)
}

const ours = moduleFolder.href

const fileOf = ({ url, location }: Frame, urls: ReadonlyMap<string, string>): string =>
  url || urls.get(location.scriptId) || 'eval'

const shortPath = (file: string): string => file.replace(/^file:\/\//, '').replace(`${process.cwd()}/`, '')
