/** A live engine with a worker, for jobs of handler.mjs. */
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { type AnyJob, seconds, type WorkOptions } from '../../src/index.ts'
import { liveEngine } from '../support/engine.ts'
import { onTestFinished } from '../support/together.ts'
import type { TestJob, Told } from './jobs.ts'

export const workingOn = (...jobs: AnyJob[]) => workingWith({ grace: seconds(0.2) }, ...jobs)

export async function workingWith(options: WorkOptions, ...jobs: AnyJob[]) {
  const { engine, url } = await liveEngine(jobs)
  const worker = await engine.work(options)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return {
    engine,
    url,
    worker,
    sql: async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows,
    /** The job once it is over. */
    async ends(job: TestJob, reported: Told) {
      const { id } = await engine.enqueue(job, reported)
      await engine.wait({ job: id })
      return (await engine.job(id))!
    },
  }
}

/** One that is dead and not yet buried, because its parent is stopped or gone, is not alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    if (process.platform !== 'linux') return true
    return !/\)\s+Z[^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
