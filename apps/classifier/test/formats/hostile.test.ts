/** Hostile files of every format besides PDF, read by a real worker beside good documents. */
import { test } from 'vitest'
import { hostileFiles } from './hostile-files.ts'
import { expectHostileToEnd } from './read-hostile.ts'

test('each hostile file ends for good within its time and says why, and the good ones beside it are read', () =>
  expectHostileToEnd(hostileFiles(), { good: 10 }))
