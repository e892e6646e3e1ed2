/** Support that the tests of the applications share: work while virtual time passes, and SQL by hand. */
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { TestEngine } from '../../src/testing/index.ts'
import { timePasses } from './engine.ts'

/** Works until no job is ready, while time passes: jobs may wait for each other. */
export async function workOn({ run, clock }: Pick<TestEngine, 'run' | 'clock'>): Promise<void> {
  let isOver = false
  const running = run().finally(() => {
    isOver = true
  })
  await timePasses(clock, () => isOver)
  await running
}

export type Sql = <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>

/** SQL by hand on the database of an engine. */
export async function sqlOn({ databaseUrl }: { databaseUrl: string }): Promise<Sql> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return async <Row>(text: string, values: unknown[] = []) => (await pool.query(text, values)).rows as Row[]
}
