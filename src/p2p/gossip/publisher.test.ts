import { describe, expect, it, vi } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { encodePayloadEnvelope } from '../../rollup/protocol/index.ts'
import { P2pError } from '../base/errors.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { createPublisher } from './publisher.ts'

const SIGNATURE = new Uint8Array(65).fill(7)
const OWN: Hex = `0x${'ab'.repeat(20)}`
const OTHER: Hex = `0x${'cd'.repeat(20)}`

interface Settings {
  hasSigner?: boolean
  expected?: Hex | undefined
  failure?: Error
}

function setUp({ hasSigner = true, failure, ...settings }: Settings = {}) {
  const config = testConfig()
  const published: { version: number; bytes: Uint8Array; blockTimeS: number }[] = []
  const signed: string[] = []
  const warnings: unknown[] = []
  const onPublishingError = vi.fn()
  const publisher = createPublisher({
    config,
    logger: { ...silentLogger, warn: (_: string, data: unknown) => warnings.push(data) },
    metrics: { onPublishingError },
    router: {
      async publish(version, message) {
        if (failure !== undefined) throw failure
        published.push({ version, ...message })
        return 3
      },
    },
    signer: hasSigner
      ? {
          address: OWN,
          async stop() {},
          async sign(hash: Uint8Array) {
            signed.push(toHex(hash))
            return SIGNATURE
          },
        }
      : undefined,
    expectedSigner: () => settings.expected,
  })
  const block = testBlock(config)
  return { publisher, published, signed, warnings, onPublishingError, block, settings }
}

describe('createPublisher', () => {
  it('signs the body, and publishes signature and body on the topic for the timestamp of the block', async () => {
    const { publisher, published, signed, block, onPublishingError } = setUp()
    await publisher.publish(block)
    const [message] = published
    if (message === undefined || message.version !== 3) throw new Error('not published')
    const body = encodePayloadEnvelope(block, 3)
    expect(toHex(message.bytes)).toBe(toHex(concatBytes(SIGNATURE, body)))
    expect(message.blockTimeS).toBe(block.payload.timestamp)
    expect(signed).toEqual([toHex(keccak256(body))])
    expect(onPublishingError).not.toHaveBeenCalled()
  })

  it('publishes nothing without a signer', async () => {
    const { publisher, published, onPublishingError, block } = setUp({ hasSigner: false })
    await expect(publisher.publish(block)).rejects.toMatchObject({ code: 'no-signer' })
    expect(published).toEqual([])
    expect(onPublishingError).toHaveBeenCalledOnce()
  })

  it('wraps errors of the layers below in its own code, and rethrows its own errors', async () => {
    const cause = new Error('no stream')
    const { publisher, block, onPublishingError } = setUp({ failure: cause })
    await expect(publisher.publish(block)).rejects.toMatchObject({ code: 'publish-failed', cause })
    expect(onPublishingError).toHaveBeenCalledOnce()
    const own = new P2pError('no-signer', 'it is gone')
    const second = setUp({ failure: own })
    await expect(second.publisher.publish(second.block)).rejects.toBe(own)
  })

  it('warns once of each L1 signer that is not the own key', async () => {
    const { publisher, block, warnings, settings } = setUp()
    await publisher.publish(block)
    settings.expected = `0x${OWN.slice(2).toUpperCase()}`
    await publisher.publish(block)
    expect(warnings).toEqual([])
    settings.expected = OTHER
    await publisher.publish(block)
    await publisher.publish(block)
    expect(warnings).toEqual([{ signer: OWN, expected: OTHER }])
    settings.expected = `0x${'ef'.repeat(20)}`
    await publisher.publish(block)
    expect(warnings).toHaveLength(2)
  })
})
