import { expect, test } from 'vitest'
import { isLoopback, networkOf, plainAddress } from './network-address.ts'

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.0.0.7', '10.0.0.7'],
  ['10.0.0.7:51234', '10.0.0.7'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['[::1]', '::1'],
  ['unknown', undefined],
  ['', undefined],
  ['x'.repeat(4000), undefined],
])('%s is the address %s', (given, address) => {
  expect(plainAddress(given)).toBe(address)
})

test.each([
  ['10.0.0.7', '10.0.0.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('who has %s has all of %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('loopback is what others do not reach', () => {
  for (const name of ['127.0.0.1', '127.8.8.8', '::1', 'localhost', 'LOCALHOST']) expect(isLoopback(name)).toBe(true)
  for (const name of ['0.0.0.0', '::', '10.0.0.1', '127.evil.example', 'localhost.example', ''])
    expect(isLoopback(name)).toBe(false)
})
