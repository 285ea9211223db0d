import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../../../test/support/anvil.ts'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { concatBytes } from '../../lib/bytes.ts'
import { systemClock } from '../../lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { versionedHashOf } from '../../lib/kzg/index.ts'
import { kzg } from '../../lib/kzg/testUtils/kzgInTest.ts'
import { silentLogger } from '../../lib/logger.ts'
import { decodeRlp, encodeRlp } from '../../lib/rlp.ts'
import { decodeBlob, encodeBlob } from '../../rollup/protocol/index.ts'
import type { L1BlockRef } from '../../rollup/protocol/types.ts'
import { createL1Client } from '../l1Client.ts'
import { type Beacon, createBeacon } from './createBeacon.ts'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const INBOX = '0xff00000000000000000000000000000000000901'

describe.each(['cancun', 'prague', 'osaka'])('blobs of Anvil at %s', (hardfork) => {
  let anvil: Anvil
  let rpc: RpcClient
  let beacon: Beacon
  let block: L1BlockRef
  let hashes: readonly Hex[]
  const data = [1, 2, 3].map((byte) => new Uint8Array(5_000).fill(byte))

  beforeAll(async () => {
    anvil = await startAnvil({ hardfork, args: ['--no-mining'] })
    // On a busy machine, Anvil takes long for the proofs of its first blobs.
    rpc = createPatientClient({ url: anvil.url })
    beacon = createBeacon({ kzg, clock: systemClock, logger: silentLogger }, { url: anvil.url })
    await rpc.request('anvil_mine', ['0x3'])
    const blobs = data.map(encodeBlob)
    const commitments = await kzg.commitments(blobs)
    const signed = await privateKeyToAccount(KEY).signTransaction({
      type: 'eip4844',
      chainId: 31_337,
      nonce: 0,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
      maxFeePerBlobGas: 10n ** 10n,
      to: INBOX,
      blobVersionedHashes: commitments.map(versionedHashOf),
    })
    const inner = decodeRlp(fromHex(signed).subarray(1))
    // Since Osaka, L1 accepts cell proofs after a version byte.
    const sidecar =
      hardfork === 'osaka'
        ? [1n, blobs, commitments, (await kzg.cellProofs(blobs)).flat()]
        : [blobs, commitments, await kzg.blobProofs(blobs, commitments)]
    const raw = concatBytes(Uint8Array.of(3), encodeRlp([inner, ...sidecar]))
    await rpc.request('eth_sendRawTransaction', [toHex(raw)])
    await rpc.request('evm_mine', [])
    const client = createL1Client({ rpc, logger: silentLogger, clock: systemClock })
    const info = await client.blockInfoByLabel('latest')
    if (info === undefined) throw new Error('Anvil has no latest block')
    block = info
    const { transactions } = await client.transactions(info.hash)
    hashes = transactions.flatMap(({ blobVersionedHashes }) => blobVersionedHashes ?? [])
  })
  afterAll(async () => {
    await beacon.client.close()
    await rpc.close()
    await anvil.stop()
  })

  it('are read by block number, because Anvil has no slots', async () => {
    await beacon.checkVersion(new AbortController().signal)
    expect(block.number).toBe(4)
    expect(hashes.length).toBe(3)
    const blobs = await beacon.client.blobs(block, hashes.toReversed())
    expect(blobs?.map(decodeBlob)).toEqual(data.toReversed())
  })

  it('are reported missing if the block has none', async () => {
    const other = createBeacon({ kzg, clock: systemClock, logger: silentLogger }, { url: anvil.url })
    await expect(other.client.blobs({ ...block, number: 2 }, hashes)).rejects.toMatchObject({ code: 'blobs-missing' })
    await expect(other.client.blobs({ ...block, number: 9 }, hashes)).rejects.toMatchObject({ code: 'blobs-missing' })
    await other.client.close()
  })
})
