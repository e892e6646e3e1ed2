/** A setting that cannot be used ends the start with a message that names the setting. */
import { expect, test } from 'vitest'
import { readQuotesSettings } from './settings.ts'

test.each([
  ['RETOMA_FETCH_ALLOW', '127.0.0.1'],
  ['RETOMA_FETCH_ALLOW', 'http://127.0.0.1:8080'],
  ['RETOMA_FETCH_ALLOW', '127.0.0.1:8080, loja:99999'],
  ['CHROMIUM_PATH', '/no/such/chromium'],
  ['CHROMIUM_PATH', 'no-such-chromium'],
  ['CHROMIUM_PATH', '/tmp'],
])('%s=%s is refused by its name', (name, value) => {
  expect(() => readQuotesSettings({ [name]: value })).toThrow(name)
})

test('a list of hosts and a program are taken', () => {
  const { pages } = readQuotesSettings({ RETOMA_FETCH_ALLOW: '127.0.0.1:8080, [::1]:9000', CHROMIUM_PATH: process.execPath }) // biome-ignore format: in one line
  expect(pages).toEqual({ allow: ['127.0.0.1:8080', '[::1]:9000'], chromium: process.execPath })
  expect(readQuotesSettings({ CHROMIUM_PATH: 'node' }).pages.chromium).toBe('node')
})
