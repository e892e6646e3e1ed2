/** The lower bound for a step: a row inserted and committed, on a single connection. */
import pg from 'pg'
import { alone } from './plan.mjs'

export async function measure(url) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    'create table step (job bigint, name text, attempt int, value json, at timestamptz, primary key (job, name))',
  )
  const text = 'insert into step values (1, $1, 1, $2, now())'
  const latency = await alone(n => client.query({ name: 'insert', text, values: [`s${n}`, `${n}`] }))
  await client.end()
  return { latency }
}
