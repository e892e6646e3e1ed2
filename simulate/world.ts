/**
 * A simulation from a seed: processes, people and faults with a single time and a real database, step by step; then calm, in
 * which every job must end.
 *
 * Invariant: no question is under way between two steps. So a seed replays the same story, as far as PostgreSQL allows.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { isRetomaError } from '../src/index.ts'
import { calm } from './calm.ts'
import { type Chance, chanceFrom } from './chance.ts'
import { afterEachStep, I5, lookAt, type Snapshot } from './invariants.ts'
import { Process } from './process.ts'
import { answer, pass, step } from './steps.ts'
import { Time } from './time.ts'
import { Wires } from './wire.ts'
import type { Outside } from './work.ts'

export interface Broken {
  /** Which invariant, such as I2. */
  invariant: string
  words: string
}

export interface Outcome {
  seed: number
  broken: Broken[]
  /** A line for each step. */
  story: string[]
  /** The same story has the same print. */
  print: string
  /** How many ended in each state. */
  ended: Record<string, number>
}

const longestAnswerMs = 20_000

export class World {
  readonly chance: Chance
  readonly time = new Time()
  readonly wires = new Wires()
  readonly outside: Outside
  readonly processes: Process[] = []
  readonly story: string[] = []
  readonly broken: Broken[] = []
  /** Jobs whose enqueue was answered. */
  readonly acknowledged = new Set<string>()
  last!: Snapshot
  /** The process whose question was answered in this step. */
  asked: Process | undefined
  readonly client: pg.Client
  readonly #url: string
  #written = ''

  constructor(seed: number, url: string) {
    this.chance = chanceFrom(seed)
    this.#url = url
    this.client = new pg.Client({ connectionString: url })
    this.outside = {
      mood: 'well',
      began: (job, attempt, step) => this.wrong('I5', ...I5(this.last, { job, attempt, step })),
    }
  }

  alive = (): Process[] => this.processes.filter(each => !each.dead)

  begin(): Process {
    const process = new Process(`p${this.processes.length + 1}`, this.time, this.outside)
    this.processes.push(process)
    void process.start(this.wires, this.#url)
    return process
  }

  /** Checks: an action of a person resolves, or rejects with a Retoma error. */
  async expectAnswer(what: string, answer: Promise<unknown>): Promise<void> {
    await answer.catch(error => {
      if (!isRetomaError(error)) this.wrong('buttons', `"${what}" answered ${String(error?.stack ?? error)}`)
    })
  }

  /** Runs a step, waits for the effects in memory, then checks all invariants. */
  async live(does: () => Promise<string> | string): Promise<void> {
    this.asked = undefined
    const late = setTimeout(() => this.#giveUp(), longestAnswerMs)
    this.story.push(await does())
    clearTimeout(late)
    await this.#quiet()
    const asked = this.asked as Process | undefined
    if (asked === undefined || !(await this.#hasChanged())) return
    const after = await lookAt(this.client)
    const known = new Set(this.last.workers)
    for (const worker of after.workers) if (!known.has(worker)) asked.workers.add(worker)
    const facts = { before: this.last, after, own: asked.workers }
    this.last = after
    for (const [name, invariant] of Object.entries(afterEachStep)) this.wrong(name, ...invariant(facts))
  }

  /**
   * Waits until all work in memory is done. Without a question under way, a few turns of the loop are enough. A starting
   * process also reads files, so the wait continues until the process asks, sleeps, has started or is dead.
   */
  async #quiet(): Promise<void> {
    const isBusy = (each: Process) =>
      each.engine === undefined && !each.dead && !this.wires.isAsking(each) && !this.time.isAsleep(each)
    do {
      for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
    } while (this.processes.some(isBusy))
  }

  /** Returns true if a transaction has written since the last call. */
  async #hasChanged(): Promise<boolean> {
    const { rows } = await this.client.query('select pg_snapshot_xmax(pg_current_snapshot())::text as next')
    const was = this.#written
    this.#written = rows[0].next
    return was !== this.#written
  }

  /**
   * Runs steps without faults until `holds()` is true. Returns false after `withinSeconds` of simulated time, or after a
   * broken invariant.
   */
  async smoothly(holds: () => boolean, withinSeconds: number): Promise<boolean> {
    const end = this.time.now + withinSeconds * 1000
    while (!holds()) {
      if (this.time.now > end || this.broken.length > 0) return false
      await this.live(() => (this.wires.ready().length > 0 ? answer(this, 'answered') : pass(this)))
    }
    return true
  }

  wrong(invariant: string, ...found: string[]): void {
    this.broken.push(...found.map(words => ({ invariant, words })))
  }

  #giveUp(): void {
    throw new Error(`a question was not answered in ${longestAnswerMs / 1000} s:\n${this.story.slice(-20).join('\n')}`)
  }
}

/** `url`: a database with empty Retoma tables. */
export async function simulate(given: { seed: number; steps: number; url: string }): Promise<Outcome> {
  const { seed, steps, url } = given
  const world = new World(seed, url)
  await world.client.connect()
  try {
    await world.client.query('create schema simulated; create table simulated.effect (job bigint not null)')
    world.last = await lookAt(world.client)
    for (let n = 0; n < 2; n++) {
      const process = world.begin()
      await world.live(() => `${process.name} starts`)
      await world.smoothly(() => process.engine !== undefined, 60)
    }
    for (let n = 0; n < steps && world.broken.length === 0; n++) await world.live(() => step(world))
    if (world.broken.length === 0) await calm(world)
  } finally {
    for (const process of world.processes) process.die()
    await world.client.end()
  }
  const { story, broken } = world
  const ended: Record<string, number> = {}
  for (const { state } of world.last.jobs.values()) ended[state] = (ended[state] ?? 0) + 1
  return { seed, broken, story, ended, print: createHash('sha256').update(story.join('\n')).digest('hex').slice(0, 12) }
}
