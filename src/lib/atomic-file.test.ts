import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { writeAtomically } from './atomic-file.ts'

test.each([
  ['of a socket it is read from', { code: 'EPIPE', syscall: 'write' }, { code: 'EPIPE' }],
  ['of the disk', { code: 'ENOSPC', syscall: 'write' }, { code: 'file_not_written' }],
])('an error %s is shown as what it is, and nothing is left', async (_, facts, reported) => {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-whole-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  async function* content() {
    yield Buffer.from('half')
    throw Object.assign(new Error('no'), facts)
  }
  const writing = writeAtomically(join(folder, 'f'), Readable.from(content()), { replace: false })
  await expect(writing).rejects.toMatchObject(reported)
  expect(readdirSync(folder)).toEqual([])
})
