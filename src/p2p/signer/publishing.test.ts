import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { until, WAIT_LIMIT_MS } from '../../lib/testUtils/until.ts'
import { nodeInTest } from '../testUtils/inTest.ts'
import { expectDelivery } from '../testUtils/network.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { SEQUENCER_ADDRESS, SEQUENCER_KEY, testBlock, testConfig } from '../testUtils/testChain.ts'
import { startTestSigner, TEST_SIGNER_KEY } from '../testUtils/testSigner.ts'
import { createRemoteSigner } from './remoteSigner.ts'

const config = testConfig()

// The first request loads modules. That time must not count as the signer's.
beforeAll(async () => {
  const { url, close } = await startTestSigner(SEQUENCER_KEY)
  const options = { endpoint: url, address: SEQUENCER_ADDRESS, headers: {} }
  const signer = await createRemoteSigner({ logger: silentLogger, healthTimeoutMs: WAIT_LIMIT_MS }, 901n, options)
  await signer.stop()
  await close()
})

describe('publishing with a remote signer', () => {
  it('publishes its blocks, and continues after a block that it did not sign', async () => {
    const signer = await startTestSigner(SEQUENCER_KEY)
    onTestFinished(signer.close)
    const sequencer = await nodeInTest({
      remoteSigner: { endpoint: signer.url, address: SEQUENCER_ADDRESS, headers: {} },
    })
    const follower = await nodeInTest({ staticPeers: [sequencer.address] })
    await until('a mesh', () => sequencer.node.meshSize() === 1)

    signer.next.push({ error: { code: -32000, message: 'key store is sealed' } })
    const lost = sequencer.node.publish(testBlock(config, { blockNumber: 1 }))
    await expect(lost).rejects.toMatchObject({ code: 'signing-failed' })
    expect(await sequencer.metric('publishing_errors_total')).toBe(1)

    await expectDelivery(sequencer, follower, testBlock(config, { blockNumber: 2 }))
    expect(await sequencer.metric('publishing_errors_total')).toBe(1)
    expect(follower.received).toHaveLength(1)
  })

  it('warns once when L1 names another signer', async () => {
    const { logger, lines } = recordedLog('warn', 'text')
    const { node } = await nodeInTest({ sequencerKey: TEST_SIGNER_KEY }, { logger })
    for (const blockNumber of [1, 2]) await node.publish(testBlock(config, { blockNumber }))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('L1 names another block signer')
    expect(lines[0]).toContain(SEQUENCER_ADDRESS)
  })
})
