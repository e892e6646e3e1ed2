/** The throw-away server of a test run. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { startTestServer } from '../../src/testing/test-server.ts'
import { eventually, guest, processesBelow, query } from './support.ts'

const folderOf = (url: string) => dirname(new URL(url).searchParams.get('host')!)

test('a throw-away server dies with its SIGKILLed owner', async () => {
  const owner = guest({})
  const { url } = await owner.ask('test-server')
  await query(url, 'create table kept as select 1 as n')
  const folder = folderOf(url)
  expect(processesBelow(folder)).not.toEqual([])
  owner.kill()
  await eventually(() => processesBelow(folder).length === 0 && !existsSync(folder), 'server and folder are gone')
})

test('two throw-away servers do not touch each other, and a stopped one is gone at once', async () => {
  const [one, other] = await Promise.all([startTestServer(), startTestServer()])
  expect(one.url).not.toBe(other.url)
  await query(one.url, 'create table mine as select 1 as n')
  await expect(query(other.url, 'select * from mine')).rejects.toThrow('does not exist')
  await one.stop()
  expect(processesBelow(folderOf(one.url))).toEqual([])
  expect(existsSync(folderOf(one.url))).toBe(false)
  expect(await query(other.url, 'select 1 as n')).toEqual([{ n: 1 }])
  await other.stop()
  expect(existsSync(folderOf(other.url))).toBe(false)
})
