/**
 * The folder below which a test run keeps its temporary files: one in memory where the machine has one with enough room. A test run makes
 * hundreds of databases with a thousand files each, and half of its CPU time on a disk is spent by the file system.
 */
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'

const inMemory = '/dev/shm'
/** A run of the whole suite needs less than half of this. */
const enoughBytes = 6 * 1024 ** 3

export function testFolder() {
  try {
    accessSync(inMemory, constants.W_OK)
    const { bavail, bsize } = statfsSync(inMemory)
    const isRoomy = bavail * bsize >= enoughBytes && freemem() >= enoughBytes
    return isRoomy && runsPrograms(inMemory) ? inMemory : tmpdir()
  } catch {
    // No such folder here, or not for this user.
    return tmpdir()
  }
}

/** False: mounted with noexec; tests copy programs and run the copies. */
function runsPrograms(folder) {
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map(line => line.split(' '))
  const mount = mounts.findLast(([, place]) => place === folder)
  return mount !== undefined && mount[2] === 'tmpfs' && !mount[3].split(',').includes('noexec')
}
