/**
 * For tests that mostly wait for real time to pass: those of a file that stand beside each other run at once. Not for tests
 * that measure, or that keep the processor busy.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type TestContext, test, onTestFinished as whenFinished } from 'vitest'

const current = new AsyncLocalStorage<TestContext>()

/** In the place of vitest's own, which does not know which of several tests calls it. */
export const onTestFinished: typeof whenFinished = (undo, timeout) =>
  (current.getStore()?.onTestFinished ?? whenFinished)(undo, timeout)

export const together = (name: string, run: () => Promise<void>): void =>
  test.concurrent(name, context => current.run(context, run))

export const togetherEach =
  <Given extends unknown[]>(cases: readonly [...Given][]) =>
  (name: string, run: (...given: Given) => Promise<void>): void =>
    test.concurrent.for(cases)(name, (given, context) => current.run(context, () => run(...given)))
