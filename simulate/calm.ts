/**
 * The end of a simulation: no more faults, every process awake, the provider well, and time passes. Then every job is final
 * or `stalled` (I1), every other job can be cancelled (I10), and every limit counter equals a recount (I9).
 */
import { isFinal } from './invariants.ts'
import type { World } from './world.ts'

const enough = 2
const hour = 3600

export async function calm(world: World): Promise<void> {
  world.story.push('calm')
  world.outside.mood = 'well'
  for (const each of world.alive()) Object.assign(each, { frozen: false, skew: 0 })
  while (world.alive().length < enough) await world.live(() => `${world.begin().name} starts`)
  const stands = () => world.alive().every(each => each.engine !== undefined)
  if (!(await world.smoothly(stands, hour))) return world.wrong('I1', 'a process did not come up without any fault')
  const ids = [...world.last.jobs.keys()]
  for (const id of world.acknowledged)
    if (!world.last.jobs.has(id)) world.wrong('I1', `job ${id} was acknowledged and is not there`)
  await cancelSome(world)
  await resumeAll(world)
  // An item retried in a stalled batch waits until a person resumes the batch.
  const isStalled = (batch: string | null) =>
    world.last.batches.some(each => each.id === batch && each.state === 'stalled')
  const isOver = (id: string) => {
    const job = world.last.jobs.get(id)
    return job === undefined || job.state === 'stalled' || isFinal(job.state) || isStalled(job.batch)
  }
  const open = () =>
    world.last.batches.filter(({ state }) => !['stalled', 'submitting'].includes(state) && !isEnded(state))
  if (!(await world.smoothly(() => ids.every(isOver) && open().length === 0, hour)) && world.broken.length === 0) {
    const left = ids.filter(id => !isOver(id)).map(id => JSON.stringify(world.last.jobs.get(id)))
    world.wrong(
      'I1',
      `not over after an hour of calm:\n${[...left, ...open().map(each => JSON.stringify(each))].join('\n')}`,
    )
  }
  await gates(world)
}

const isEnded = (state: string) => ['succeeded', 'completed_with_failures', 'failed', 'cancelled'].includes(state)

/** Runs an action of a person and lets time pass until the action is answered. Returns the error, if any. */
async function errorOf(world: World, act: () => Promise<unknown>): Promise<unknown> {
  let answer: { error?: unknown } | undefined
  void act().then(
    () => {
      answer = {}
    },
    error => {
      answer = { error }
    },
  )
  if (!(await world.smoothly(() => answer !== undefined, hour)) && world.broken.length === 0)
    world.wrong('I10', 'a button was not answered within an hour of calm')
  return answer?.error
}

/** I10: a job in any state except a final state can be cancelled. */
async function cancelSome(world: World): Promise<void> {
  const engine = world.alive()[0]!.engine!
  const open = [...world.last.jobs.values()].filter(({ state }) => !isFinal(state)).map(({ id }) => id)
  const some = open.filter(() => world.chance.percent(20)).slice(0, 5)
  for (const id of some) {
    const error = await errorOf(world, () => engine.jobs.cancel(id))
    const state = () => world.last.jobs.get(id)!.state
    const ends = error === undefined && (await world.smoothly(() => isFinal(state()), hour))
    if (!ends && !isFinal(state()) && world.broken.length === 0)
      world.wrong('I10', `job ${id} (${state()}) cannot be cancelled: ${String(error)}`)
  }
}

async function resumeAll(world: World): Promise<void> {
  const engine = world.alive()[0]!.engine!
  for (const { id, state } of world.last.batches) {
    if (state !== 'paused') continue
    const error = await errorOf(world, () => engine.batches.resume(id))
    if (error !== undefined) world.wrong('I10', `batch ${id} cannot be resumed: ${String(error)}`)
  }
}

/** I9: each limit counter equals the number of running jobs. */
async function gates(world: World): Promise<void> {
  const { rows } = await world.client.query(`
    select g.queue, g.group_key, g.running,
      (select count(*)::int from retoma.job j where j.queue = g.queue and j.state = 'running' and j.limit_key = g.group_key) as counted
    from retoma.limit_counter g`)
  for (const { queue, group_key, running, counted } of rows)
    if (running !== counted) world.wrong('I9', `gate ${queue}/${group_key} says ${running} run, and ${counted} do`)
}
