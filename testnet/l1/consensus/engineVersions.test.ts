import { expect, it } from 'vitest'
import { engineMethods, payloadAttributes } from './engineVersions.ts'

const random = { prevRandao: `0x${'01'.repeat(32)}`, parentBeaconBlockRoot: `0x${'02'.repeat(32)}` } as const
const common = { ...random, suggestedFeeRecipient: `0x${'00'.repeat(20)}`, withdrawals: [] }

it("uses Osaka's methods, and Amsterdam's from its time on", () => {
  const osaka = ['engine_forkchoiceUpdatedV3', 'engine_getPayloadV5', 'engine_newPayloadV4']
  const amsterdam = ['engine_forkchoiceUpdatedV4', 'engine_getPayloadV6', 'engine_newPayloadV5']
  const names = (timestamp: number, amsterdamTime: number | undefined) => {
    const { forkchoiceUpdated, getPayload, newPayload } = engineMethods(timestamp, amsterdamTime)
    return [forkchoiceUpdated, getPayload, newPayload]
  }
  expect(names(1_059, 1_060)).toEqual(osaka)
  expect(names(1_060, 1_060)).toEqual(amsterdam)
  expect(names(1_061, 1_060)).toEqual(amsterdam)
  expect(names(1_061, undefined)).toEqual(osaka)
})

it('sends the slot number from Amsterdam on', () => {
  expect(payloadAttributes({ timestamp: 1_058, slot: 29 }, 1_060, random)).toEqual({ ...common, timestamp: '0x422' })
  expect(payloadAttributes({ timestamp: 1_060, slot: 30 }, 1_060, random)).toEqual({
    ...{ ...common, timestamp: '0x424' },
    slotNumber: '0x1e',
  })
})
