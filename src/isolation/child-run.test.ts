/** Tests a run without processes: a fake child receives, answers and dies on command. */
import { expect, test } from 'vitest'
import type { Child, ChildExit } from './child.ts'
import type { ChildTask, Nature, ToChild, ToParent } from './child-protocol.ts'
import { type ChildHost, ChildRun } from './child-run.ts'

const nature: Nature = { isolation: 'process', memoryBytes: null, environment: [], parentStoppedMs: 1000 }
const killed: ChildExit = {
  signal: 'SIGKILL',
  exitCode: null,
  memoryBytes: null,
  stderr: '',
  words: null,
  begun: 0,
  error: undefined,
}

/** `does` runs when the child receives a run. */
function child(does: (say: (message: ToParent) => void, die: (remains: ChildExit) => void) => void): Child {
  let heard: (message: ToParent) => void = () => {}
  let die: (remains: ChildExit) => void = () => {}
  const died = new Promise<ChildExit>(resolve => {
    die = resolve
  })
  return {
    ready: Promise.resolve(),
    died,
    isThere: true,
    stolenMs: () => 0,
    send: (message: ToChild) => void (message.type === 'run' && does(each => heard(each), die)),
    onMessage: listener => {
      heard = listener
    },
    kill: async () => true,
    works: () => {},
  }
}

const answers = child(say => say({ type: 'ended', run: 1, end: 'well', grown: 0 }))
const dies = (remains: Partial<ChildExit>) => child((_, die) => die({ ...killed, ...remains }))

async function runIn(...children: Child[]) {
  const taken: Child[] = []
  const run = new ChildRun(1, {} as ChildTask, nature, { began: () => {}, storage: {} } as unknown as ChildHost, {
    take: async () => {
      const next = children.shift() ?? dies({})
      taken.push(next)
      return next
    },
    release: () => {},
    kill: async () => {},
  })
  return { ended: await run.ended, tried: taken.length }
}

test('a call that is no method of the storage is an error of the child, not of the worker', async () => {
  const answers: unknown[] = []
  const caller: Child = {
    ...child(say => {
      say({ type: 'call', run: 1, call: 1, method: 'constructor', args: [] })
      say({ type: 'call', run: 1, call: 2, method: 'query', args: undefined as never })
      say({ type: 'ended', run: 1, end: 'well', grown: 0 })
    }),
  }
  const send = caller.send
  caller.send = message => {
    if (message.type === 'answer') answers.push(message.error)
    else send(message)
  }
  expect(await runIn(caller)).toMatchObject({ ended: { end: 'well' } })
  expect(answers).toMatchObject([{ name: 'TypeError' }, { name: 'TypeError' }])
})

test('what was sent to a child that was dead already goes to another, and nobody is charged', async () => {
  expect(await runIn(dies({}), answers)).toEqual({ ended: { end: 'well' }, tried: 2 })
})

test('a child that died with the run in its hands died of it', async () => {
  const { ended, tried } = await runIn(dies({ begun: 1 }), answers)
  expect(ended).toMatchObject({ thrown: { code: 'child_crashed' }, evidence: { signal: 'SIGKILL' } })
  expect(tried).toBe(1)
})

test('of a thread it is not known, so it is charged', async () => {
  expect(await runIn(dies({ begun: undefined }))).toMatchObject({
    ended: { thrown: { code: 'child_crashed' } },
    tried: 1,
  })
})

test('where no child lives long enough to begin, the job goes back', async () => {
  expect(await runIn()).toEqual({ ended: { deferred: 'its child was dead before it had begun' }, tried: 4 })
})
