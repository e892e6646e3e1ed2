/**
 * `npm run simulate`: runs seeds in order and prints the outcome of each seed. At the first broken invariant, prints the last
 * steps and the command to replay the seed.
 */
import pg from 'pg'
import { createEngine } from '../src/index.ts'
import { createTestDatabase, startTestServer } from '../src/testing/index.ts'
import { type Outcome, simulate } from './world.ts'

export interface Asked {
  seed: number
  steps: number
  runs: number
  /** Tells every step. */
  story: boolean
}

const lastSteps = 40

/** Answers whether all invariants held. */
export async function play({ seed, steps, runs, story }: Asked, say: (line: string) => void): Promise<boolean> {
  const server = await startTestServer()
  try {
    const template = await createTestDatabase(server.url)
    await (await createEngine({ databaseUrl: template.url, log: false })).close()
    for (let each = seed; each < seed + runs; each++) {
      const began = performance.now()
      const url = await copyOf(server.url, template.url, `simulated_${each}`)
      const outcome = await simulate({ seed: each, steps, url })
      const ended = Object.entries(outcome.ended).map(([state, n]) => `${n} ${state}`)
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      if (story) for (const line of outcome.story) say(line)
      say(`seed ${each}: ${outcome.story.length} steps, ${ended.join(', ')} (${outcome.print}, ${seconds} s)`)
      if (outcome.broken.length > 0) {
        for (const line of accused(outcome, steps, story)) say(line)
        return false
      }
    }
    say('\nevery invariant held')
    return true
  } finally {
    await server.stop()
  }
}

function accused({ seed, broken, story }: Outcome, steps: number, isTold: boolean): string[] {
  return [
    ...(isTold ? [] : ['', 'the last steps:', ...story.slice(-lastSteps).map(line => `  ${line}`)]),
    '',
    ...broken.map(({ invariant, words }) => `${invariant} does not hold: ${words}`),
    '',
    `play it again: npm run simulate -- --seed ${seed} --steps ${steps} --runs 1 --story`,
  ]
}

async function copyOf(server: string, template: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  await client
    .query(`create database ${name} template ${new URL(template).pathname.slice(1)}`)
    .finally(() => client.end())
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
