import { availableParallelism } from 'node:os'
import { expect, test } from 'vitest'
import { coreCount } from './core-count.ts'

const self = '/proc/self/cgroup'
const top = '/sys/fs/cgroup'

const countWith = (files: Record<string, string>, cores = 64) => coreCount(cores, path => files[path])

test.each<[string, number, Record<string, string>]>([
  ['of no group', 64, {}],
  ['of a group without a quota', 64, { [self]: '0::/\n', [`${top}/cpu.max`]: 'max 100000\n' }],
  ['of a container', 2, { [self]: '0::/\n', [`${top}/cpu.max`]: '200000 100000\n' }],
  ['of another period', 3, { [self]: '0::/\n', [`${top}/cpu.max`]: '150000 50000\n' }],
  ['of two and a half cores', 2, { [self]: '0::/\n', [`${top}/cpu.max`]: '250000 100000\n' }],
  ['of half a core', 1, { [self]: '0::/\n', [`${top}/cpu.max`]: '50000 100000\n' }],
  ['above the cores', 64, { [self]: '0::/\n', [`${top}/cpu.max`]: '12800000 100000\n' }],
  ['of a service', 4, { [self]: '0::/a.slice/b.service\n', [`${top}/a.slice/b.service/cpu.max`]: '400000 100000\n' }],
  [
    'of a group above the service',
    3,
    {
      [self]: '0::/a.slice/b.service\n',
      [`${top}/a.slice/b.service/cpu.max`]: 'max 100000\n',
      [`${top}/a.slice/cpu.max`]: '300000 100000\n',
    },
  ],
  [
    'of a container that sees the names of the host',
    2,
    { [self]: '0::/docker/1f\n', [`${top}/cpu.max`]: '200000 100000\n' },
  ],
  [
    'of version 1',
    2,
    {
      [self]: '5:memory:/\n4:cpu,cpuacct:/docker/1f\n',
      [`${top}/cpu,cpuacct/docker/1f/cpu.cfs_quota_us`]: '200000\n',
      [`${top}/cpu,cpuacct/docker/1f/cpu.cfs_period_us`]: '100000\n',
    },
  ],
  [
    'of version 1 in a container that sees the names of the host',
    2,
    {
      [self]: '4:cpu,cpuacct:/docker/1f\n',
      [`${top}/cpu/cpu.cfs_quota_us`]: '200000\n',
      [`${top}/cpu/cpu.cfs_period_us`]: '100000\n',
    },
  ],
  [
    'of version 1 without a quota',
    64,
    { [self]: '1:cpu:/\n', [`${top}/cpu/cpu.cfs_quota_us`]: '-1\n', [`${top}/cpu/cpu.cfs_period_us`]: '100000\n' },
  ],
  ['that is not readable', 64, { [self]: '0::/\n', [`${top}/cpu.max`]: 'what\n' }],
])('a quota %s leaves %i of 64 cores', (_, cores, files) => {
  expect(countWith(files)).toBe(cores)
})

test('this machine has at least one core and at most the cores that Node counts', () => {
  expect(coreCount()).toBeGreaterThanOrEqual(1)
  expect(coreCount()).toBeLessThanOrEqual(availableParallelism())
})
