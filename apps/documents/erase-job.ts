/** Erases the job of a document with its steps, failures, events and files. A job that is gone counts as erased. */
import { type Engine, isRetomaError } from 'retoma'

export async function eraseJob(engine: Engine, job: string): Promise<void> {
  await engine.jobs.cancel(job).catch(unlessOver)
  await engine.jobs.erase(job)
}

function unlessOver(error: unknown): void {
  if (!isRetomaError(error, 'not_found') && !isRetomaError(error, 'wrong_state')) throw error
}
