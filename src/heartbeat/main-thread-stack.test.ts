import { expect, test } from 'vitest'
import { worthTelling } from './main-thread-stack.ts'

const ours = (file: string) => new URL(`../${file}`, import.meta.url).href
const worth = (...files: string[]) => worthTelling(files, file => file)

test('a blocked stack ends with the last frame of the user, not with how Retoma and Node came to it', () => {
  const way = [
    ours('execution/attempt.ts'),
    'node:async_hooks',
    ours('worker/attempt-runner.ts'),
    'node:internal/timers',
  ]
  expect(worth('file:///app/spin.js', 'file:///app/job.js', ...way)).toEqual([
    'file:///app/spin.js',
    'file:///app/job.js',
  ])
  // Frames of ours called by user code, and calling user code, stay.
  const step = ['node:crypto', 'file:///app/hash.js', ours('execution/steps.ts'), 'file:///app/job.js']
  expect(worth(...step, ...way)).toEqual(step)
  expect(worth(...way)).toEqual(way)
  expect(worth()).toEqual([])
})
