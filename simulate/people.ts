/** Actions of people: enqueue jobs, submit batches, and pause, cancel, retry and resume random jobs and batches. */
import { seconds } from '../src/index.ts'
import type { Process } from './process.ts'
import type { Item } from './work.ts'
import type { World } from './world.ts'

/** So many jobs are enough for trouble; more only take time. */
const mostJobs = 150
const itemsOfBatch = 30

/** Starts a random action in `process`. The answer may come in a later step, or never. */
export function act(world: World, process: Process): string {
  const { chance, last } = world
  const engine = process.engine!
  const does = chance.weighed({
    ...(last.jobs.size < mostJobs ? { enqueue: 6, submit: last.batches.length < 4 ? 2 : 0.2 } : {}),
    ...(last.batches.length > 0 ? { batch: 4 } : {}),
    ...(last.jobs.size > 0 ? { job: 3 } : {}),
  })
  const say = (what: string, answer: Promise<unknown>) => {
    void world.expectAnswer(what, answer)
    return `a person at ${process.name}: ${what}`
  }
  switch (does) {
    case 'enqueue':
      return enqueue(world, process)
    case 'submit': {
      const items = Array.from({ length: itemsOfBatch }, () => itemFrom(world))
      return say('submit', engine.submit(process.work.many, items))
    }
    case 'batch': {
      const { id } = chance.one(last.batches)
      const button = chance.one(['pause', 'resume', 'resume', 'resume', 'retryFailed', 'cancel'] as const)
      return say(`${button} batch ${id}`, engine.batches[button](id))
    }
    case 'job': {
      const id = chance.one([...last.jobs.keys()])
      const button = chance.one(['cancel', 'retry', 'resume', 'rerun', 'skip'] as const)
      return say(
        `${button} job ${id}`,
        button === 'skip' ? engine.jobs.skip(id, 'not this one') : engine.jobs[button](id),
      )
    }
  }
}

function enqueue(world: World, { name, engine, work }: Process): string {
  const { chance, acknowledged } = world
  const kind = chance.one(['quick', 'flaky', 'steps', 'saved', 'narrow', 'narrow', 'asking'] as const)
  const input = { n: 1 + chance.below(4), ms: chance.below(20_000) }
  const options = {
    priority: chance.below(10),
    ...(chance.percent(20) ? { delay: seconds(chance.below(60)) } : {}),
    ...(chance.percent(20) ? { key: `k${chance.below(5)}` } : {}),
    ...(kind === 'narrow' ? { groupKey: chance.one(['a', 'b']) } : {}),
  }
  const takesInput = ['flaky', 'steps', 'narrow'].includes(kind)
  const answer = engine!.enqueue(work.kinds[kind], takesInput ? input : undefined, options)
  void world.expectAnswer(
    `enqueue ${kind}`,
    answer.then(({ id }) => void acknowledged.add(id)),
  )
  return `a person at ${name}: enqueue ${kind}`
}

function itemFrom({ chance }: World): Item {
  const how = chance.weighed<Item['how']>({ well: 50, fails: 20, hopeless: 8, skipped: 7, long: 15 })
  return { how, n: 1 + chance.below(how === 'long' ? 60 : 4) }
}
