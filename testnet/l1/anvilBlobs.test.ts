import { parseGwei, sidecarsToVersionedHashes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, it, onTestFinished } from 'vitest'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { startAnvil } from '../../test/support/anvil.ts'
import { devAccounts } from '../accounts.ts'
import { L1_HARDFORK } from './anvil.ts'
import { readAnvilBlobs } from './anvilBlobs.ts'
import { readL1Block } from './rpc.ts'

/** The blob of zeros, whose commitment and proof are the point at infinity. */
const INFINITY = `0xc0${'00'.repeat(47)}` as const
const BLOB = `0x${'00'.repeat(131_072)}` as const

it('serves the blobs of all blocks with the time of the slot', async () => {
  const anvil = await startAnvil({ hardfork: L1_HARDFORK, args: ['--no-mining'] })
  const l1 = createPatientClient({ url: anvil.url })
  onTestFinished(async () => {
    await l1.close()
    await anvil.stop()
  })
  const account = privateKeyToAccount(devAccounts[0]?.privateKey ?? '0x')
  const sidecars = [{ blob: BLOB, commitment: INFINITY, proof: INFINITY }]
  const blobVersionedHashes = sidecarsToVersionedHashes({ sidecars })
  const sendBlob = async (nonce: number) => {
    const raw = await account.signTransaction({
      type: 'eip4844',
      chainId: 31_337,
      nonce,
      gas: 21_000n,
      maxFeePerGas: parseGwei('5'),
      maxPriorityFeePerGas: parseGwei('1'),
      maxFeePerBlobGas: parseGwei('1'),
      to: account.address,
      blobVersionedHashes,
      sidecars,
    })
    await l1.request('eth_sendRawTransaction', [raw])
  }
  await l1.request('evm_mine', [])
  await l1.request('anvil_setBlockTimestampInterval', [0])
  for (const nonce of [0, 1]) {
    await sendBlob(nonce)
    await l1.request('evm_mine', [])
  }
  await l1.request('anvil_setBlockTimestampInterval', [1])
  await l1.request('evm_mine', [])

  const times = [1, 2, 3, 4].map(async (number) => (await readL1Block(l1, `0x${number}`)).timestamp)
  const [first = 0, second, third, fourth] = await Promise.all(times)
  expect([second, third, fourth]).toEqual([first, first, first + 1])
  const blobsAt = (slot: number) => readAnvilBlobs(l1, { genesisTime: first, secondsPerSlot: 1 }, slot)
  const blob = { versionedHash: blobVersionedHashes[0], blob: BLOB }
  expect(await blobsAt(0)).toEqual([blob, blob])
  expect(await blobsAt(1)).toEqual([])
  expect(await blobsAt(2)).toBeUndefined()
})
