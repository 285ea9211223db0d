import { describe, expect, it } from 'vitest'
import { type CheckOptions, checkPeer } from '../../src/cli/operator/p2p/check/checkPeer.ts'
import { systemResolver } from '../../src/cli/operator/p2p/check/resolve.ts'
import type { CheckReport } from '../../src/cli/operator/p2p/check/steps.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { CHAIN_ID, testBlocks, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { setStage } from './goPeerSetup.ts'

const check = (target: string, options: Partial<CheckOptions> = {}): Promise<CheckReport> =>
  checkPeer(
    { clock: systemClock, resolver: systemResolver },
    { target, timeoutMs: 10_000, standMs: 300, chainId: CHAIN_ID, ...options },
  )

const textOf = ({ steps }: CheckReport, name: string): string | undefined =>
  steps.find(({ step }) => step === name)?.text

describe('checking a peer of go-libp2p', () => {
  const stage = setStage()

  it.each(['', '/'] as const)('passes every step, and requests a block at "…/0%s"', async (spelling) => {
    const go = await stage.go({ spellings: [spelling] })
    const blocks = testBlocks(testConfig('holocene'), 1, 2)
    await go.serve(blocks)
    const report = await check(go.address, { blockNumber: 2 })
    expect(report.steps.filter(({ outcome }) => outcome !== 'ok')).toEqual([])
    expect(report).toMatchObject({ ok: true, peerId: go.peerId, verdict: 'reachable: go-interop, chain 901' })
    expect(textOf(report, 'topics')).toBe('blocks v1 v2 v3 v4 of chain 901')
    expect(textOf(report, 'blocks')).toMatch(/sent block 2$/)
  })

  it('completes a discovery handshake', async () => {
    const go = await stage.go({ discovery: { bootnodes: [], dial: false } })
    const report = await check(go.record)
    expect(report).toMatchObject({ ok: true, peerId: go.peerId })
    expect(textOf(report, 'udp')).toMatch(/^discovery answers at 127\.0\.0\.1:\d+, chain 901, sees us as 127\.0\.0\.1:/)
  })

  it('reports a peer of another chain, and a peer that is down', async () => {
    const go = await stage.go({ chainId: 902 })
    expect((await check(go.address)).verdict).toMatch(/^failed at topics: blocks of chain 902, not of chain 901/)
    await go.kill()
    expect(await check(go.address)).toMatchObject({ ok: false, failedAt: 'tcp' })
  })
})
