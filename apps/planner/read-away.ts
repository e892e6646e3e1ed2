/** Reads a hostile file in a process with limits, and turns the end of the process into an error of the planner. */
import { type Duration, isRetomaError, type JobContext, megabytes, RetomaError } from 'retoma'
import { errors } from './errors.ts'
import { failed } from './failed.ts'

export interface Limits {
  timeout: Duration
  memory: number
  maxBytes: number
}

/** A crash of the child counts against the file, unless a SIGKILL from outside ended the child. */
export async function readAway<T>(
  ctx: JobContext,
  name: string,
  module: URL,
  input: unknown,
  limits: Limits,
): Promise<T> {
  try {
    return await ctx.isolated<T>(name, module, input, limits)
  } catch (error) {
    const options = { cause: error }
    if (isRetomaError(error, 'isolated_timeout'))
      throw failed(new RetomaError(errors.planner_file_timeout, { seconds: limits.timeout / 1000 }, options))
    if (isRetomaError(error, 'isolated_memory'))
      throw failed(new RetomaError(errors.planner_file_memory, { megabytes: limits.memory / megabytes(1) }, options))
    if (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
      throw failed(new RetomaError(errors.planner_file_crash, { how: error.facts.how! }, options))
    // The file is not the cause.
    if (isRetomaError(error, 'isolated_crash') || isRetomaError(error, 'child_not_started')) throw failed(error)
    if (isRetomaError(error, 'isolated_starved')) throw failed(error)
    throw error
  }
}
