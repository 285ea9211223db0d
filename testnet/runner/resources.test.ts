import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { checkDisk, checkMachine, type Machine } from './resources.ts'

const GB = 1e9
const large: Machine = { memoryBytes: 64 * GB, freeMemoryBytes: 60 * GB, cores: 64 }

describe('a machine', () => {
  it('gives no warning if it is large enough for all nodes', () => {
    expect(checkMachine({ nodes: 50, da: 'calldata' }, large)).toEqual([])
    const small = { memoryBytes: GB, freeMemoryBytes: GB / 2, cores: 1 }
    expect(checkMachine({ nodes: 1, da: 'calldata' }, small)).toEqual([])
  })

  it('is refused with too little memory, with the number of nodes that fit', () => {
    expect(() => checkMachine({ nodes: 50, da: 'calldata' }, { ...large, memoryBytes: 8 * GB })).toThrow(
      '--nodes 50 takes about 8.5 GB of memory; this machine has 8.0 GB, enough for 46',
    )
    expect(() => checkMachine({ nodes: 50, da: 'auto' }, { ...large, memoryBytes: 8 * GB })).toThrow(
      '--nodes 50 takes about 12.3 GB of memory; this machine has 8.0 GB, enough for 31',
    )
  })

  it('gets a warning if its memory is in use or it has few cores', () => {
    expect(
      checkMachine({ nodes: 50, da: 'calldata' }, { memoryBytes: 16 * GB, freeMemoryBytes: 4 * GB, cores: 2 }),
    ).toEqual([
      '--nodes 50 takes about 8.5 GB of memory; only 4.0 GB are free',
      '--nodes 50 keeps about 3 processor cores busy; this machine has 2',
    ])
    expect(checkMachine({ nodes: 50, da: 'calldata' }, { ...large, freeMemoryBytes: undefined })).toEqual([])
  })

  it('is refused with a full disk', () => {
    expect(() => checkDisk(3, tmpdir())).not.toThrow()
    expect(() => checkDisk(1e9, tmpdir())).toThrow(
      /^--dir \/.*: the disk has \d+ MB free, a new chain takes about \d+ MB$/,
    )
  })
})
