/**
 * Jobs which misbehave. Each handler writes a line to the ledger at the start and at the end. `retoma` is the library as loaded
 * by the process which runs or enqueues the jobs.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** The stack of a blocked loop must contain the name of this function. */
function spinOnTheSpot(ms) {
  const until = performance.now() + ms
  let turns = 0
  while (performance.now() < until) turns++
  return turns
}

export function troubleJobs({ defineJob, minutes, seconds }, note = () => {}) {
  const handler = name => new URL(`./handlers/${name}.mjs`, import.meta.url)
  const again = { first: seconds(0.2), factor: 1, jitter: 0 }

  const chore = defineJob({
    kind: 'chore',
    queue: 'work',
    run: async ({ id, attempt, signal }, { ms = 0 }) => {
      note('start', id, attempt, '-')
      await sleep(ms, undefined, { signal })
      note('end', id, attempt, '-')
      return { attempt }
    },
  })

  /** Begins, awaits, and then blocks the loop. */
  const spin = defineJob({
    kind: 'spin',
    queue: 'work',
    timeout: minutes(5),
    run: async ({ id, attempt }, { ms }) => {
      note('start', id, attempt, '-')
      await sleep(10)
      spinOnTheSpot(ms)
      note('end', id, attempt, '-')
      return { attempt }
    },
  })

  const neighbour = defineJob({
    kind: 'neighbour',
    queue: 'work',
    timeout: seconds(30),
    run: async ({ id, attempt, signal }, { ms }) => {
      note('start', id, attempt, '-')
      await sleep(ms, undefined, { signal })
      note('end', id, attempt, '-')
      return { attempt }
    },
  })

  const loop = defineJob({
    kind: 'loop',
    queue: 'work',
    maxAttempts: 2,
    backoff: again,
    timeout: seconds(3),
    run: async ({ id, attempt }) => {
      note('start', id, attempt, '-')
      await sleep(10)
      for (;;) spinOnTheSpot(1000)
    },
  })

  const isolated = isolation =>
    defineJob({
      kind: `loop-${isolation}`,
      queue: 'work',
      maxAttempts: 1,
      timeout: seconds(3),
      isolation,
      handler: handler('loop'),
    })

  /** Saves a step and then awaits forever, without regard for the signal. The second attempt ends. */
  const forever = defineJob({
    kind: 'forever',
    queue: 'wait',
    stallAfter: seconds(5),
    run: async ctx => {
      note('start', ctx.id, ctx.attempt, '-')
      await ctx.step('paid', () => note('step', ctx.id, ctx.attempt, '-', 'paid'))
      if (ctx.attempt === 1) await new Promise(() => {})
      note('end', ctx.id, ctx.attempt, '-')
      return { attempt: ctx.attempt }
    },
  })

  const poison = (kind, kill) =>
    defineJob({
      kind,
      queue: 'work',
      maxAttempts: 5,
      backoff: again,
      run: async ({ id, attempt }) => {
        note('start', id, attempt, '-')
        await sleep(50)
        await kill()
      },
    })
  const aborts = poison('aborts', () => process.abort())
  const exits = poison('exits', () => process.exit(3))
  const devours = poison('devours', async () => {
    const eaten = []
    for (;;) {
      eaten.push(Buffer.alloc(8 * 1024 * 1024, 1))
      await sleep(1)
    }
  })

  return {
    ...{ chore, spin, neighbour, loop, forever, aborts, exits, devours },
    loopThread: isolated('thread'),
    loopProcess: isolated('process'),
  }
}
