import { describe, expect, it } from 'vitest'
import type { Fork } from '../../../rollup/protocol/index.ts'
import { callsFollowTime, clientOf, judgeRelease } from './clients.ts'

const LATER = /^op-reth supports karst since version 2\.3\.2$/

/** Client name, family, and whether its release supports Karst. */
const CASES: [string, string, 'knows' | RegExp | undefined][] = [
  ['Geth/v1.101603.5-stable-abc/linux-amd64/go1.24', 'geth', /^op-geth was discontinued on 2026-05-31/],
  ['op-geth/1.101608.0', 'geth', /^op-geth was discontinued/],
  ['go-ethereum/1.17.1', 'geth', /^op-geth was discontinued/],
  ['op-reth/v2.3.2-abc/x86_64', 'op-reth', 'knows'],
  ['OP-Reth/v2.10.0', 'op-reth', 'knows'],
  ['op-reth/v2.3.1', 'op-reth', LATER],
  ['op-reth/v1.11.3', 'op-reth', LATER],
  ['op-reth', 'op-reth', undefined],
  ['reth/v1.9.4-abc', 'reth', LATER],
  // reth's version numbers from 2.0 on differ from op-reth's.
  ['reth/v2.2.0-abc', 'reth', undefined],
  ['devium-geth/v0.1.0/linux-x64', 'devium-geth', undefined],
  ['Nethermind/v1.40.0', 'other', undefined],
  ['', 'other', undefined],
]

describe('execution clients', () => {
  it.each(CASES)('%s is of the family %s', (name, family, karst) => {
    const client = clientOf(name)
    const judged = judgeRelease(client, 'karst')
    expect(client.family).toBe(family)
    if (karst === undefined) expect(judged).toBeUndefined()
    else expect(judged).toEqual(karst === 'knows' ? { knows: true } : { why: expect.stringMatching(karst) })
    expect(callsFollowTime(client)).toBe(['geth', 'devium-geth'].includes(family))
  })

  it.each<[string, Fork, object | undefined]>([
    ['op-reth/v2.9.0', 'lagoon', undefined],
    ['op-reth/v2.9.0', 'jovian', { knows: true }],
    ['op-reth/v1.9.0', 'jovian', undefined],
    ['Geth/v1.101603.5', 'jovian', undefined],
    ['Geth/v1.101603.5', 'lagoon', { why: 'op-geth was discontinued on 2026-05-31, and no release supports lagoon' }],
  ])('%s and %s', (name, fork, judged) => {
    expect(judgeRelease(clientOf(name), fork)).toEqual(judged)
  })
})
