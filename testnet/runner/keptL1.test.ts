import { describe, expect, it } from 'vitest'
import { keptL1 } from './keptL1.ts'

const anvil = { l1Client: 'anvil' as const, l1ForkAt: [], l1BlockTime: 2 }
const geth = { l1Client: { geth: '/opt/geth' }, l1ForkAt: [], l1BlockTime: 2 }
const fork = [{ fork: 'amsterdam' as const, seconds: 60 }]
const onGeth = { l1: { client: 'geth' as const }, l1BlockTime: 2 }
const start = { given: new Set<string>(), now: 5_000 }

describe('the L1 of a kept chain', () => {
  it('is the L1 client that made the chain', () => {
    expect(keptL1({ l1BlockTime: 2 }, anvil, start)).toBeUndefined()
    expect(keptL1(onGeth, geth, start)).toEqual({ client: 'geth' })
    expect(() => keptL1({ l1BlockTime: 2 }, geth, start)).toThrow(
      '--l1-client geth=/opt/geth: the L1 of the chain kept in this directory is Anvil; use another --dir',
    )
    expect(() => keptL1(onGeth, anvil, start)).toThrow(
      'the L1 of the chain kept in this directory is go-ethereum: add --l1-client geth=<path>, or use another --dir',
    )
  })

  it('accepts a fork once', () => {
    const forked = { client: 'geth' as const, amsterdamTime: 5_060 }
    expect(keptL1(onGeth, { ...geth, l1ForkAt: fork }, start)).toEqual(forked)
    expect(keptL1({ ...onGeth, l1: forked }, { ...geth, l1ForkAt: fork }, { ...start, now: 9_000 })).toEqual(forked)
  })

  it('keeps the length of its slots', () => {
    const given = { ...start, given: new Set(['l1-block-time']) }
    expect(() => keptL1(onGeth, { ...geth, l1BlockTime: 3 }, given)).toThrow(
      '--l1-block-time 3: the slots of the L1 kept in this directory take 2 s; use another --dir',
    )
    expect(keptL1(onGeth, geth, given)).toEqual({ client: 'geth' })
    // A default value is not a request.
    expect(keptL1({ ...onGeth, l1BlockTime: 3 }, geth, start)).toEqual({ client: 'geth' })
  })
})
