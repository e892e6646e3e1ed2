/** Retoma's own files in a data folder, while a server that stops removes them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readNote } from '../../src/embedded-postgres/pidfile.ts'

const { afterOpen } = vi.hoisted(() => ({ afterOpen: { run: (_path: string) => {} } }))
vi.mock('node:fs/promises', async original => {
  const real = await original<{ open: typeof open }>()
  const opened: typeof open = async (path, ...rest) => {
    const file = await real.open(path, ...rest)
    afterOpen.run(String(path))
    return file
  }
  return { ...real, open: opened }
})

test('a pid file that its server removes while it is read is a missing one, not somebody else’s', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-files-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'postmaster.pid')
  writeFileSync(file, '17\n')
  expect(await readNote(file)).toEqual({ text: '17\n', pid: 17 })
  afterOpen.run = path => {
    if (path.endsWith('postmaster.pid')) rmSync(file, { force: true })
  }
  expect(await readNote(file)).toBeUndefined()
})
