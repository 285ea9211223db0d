import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readBlobs } from '../../src/batcher/testUtils/l1Batches.ts'
import { createRpcClient } from '../../src/jsonRpc/client.ts'
import { json } from '../../src/l1/testUtils/beaconServer.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { quantityToNumber, toHex, toQuantity } from '../../src/lib/hex.ts'
import { createKzg } from '../../src/lib/kzg/index.ts'
import { silentLogger } from '../../src/lib/logger.ts'

interface L1Block {
  number: string
  timestamp: string
  transactions: { blobVersionedHashes?: string[] }[]
}

/**
 * The beacon API that op-nodes ask for the blobs of an Anvil: Anvil's own has no `config/spec`, takes block numbers for
 * slots, and reads only the last of several hashes. A slot has a second here and begins at the L1's genesis.
 */
export async function startAnvilBeacon(l1Url: string): Promise<{ url: string; stop(): Promise<void> }> {
  const l1 = createRpcClient({ url: l1Url })
  const kzg = createKzg({ clock: systemClock, logger: silentLogger })
  const blockAt = async (number: number | 'latest'): Promise<L1Block> =>
    (await l1.request('eth_getBlockByNumber', [number === 'latest' ? number : toQuantity(number), true])) as L1Block
  const genesisTime = quantityToNumber((await blockAt(0)).timestamp)

  const blockOfSlot = async (slot: number): Promise<L1Block | undefined> => {
    let block = await blockAt('latest')
    while (quantityToNumber(block.timestamp) > genesisTime + slot)
      block = await blockAt(quantityToNumber(block.number) - 1)
    return quantityToNumber(block.timestamp) === genesisTime + slot ? block : undefined
  }
  /** All of the block, in order. */
  const blobsOf = async (block: L1Block) => {
    const hashes = block.transactions.flatMap(({ blobVersionedHashes = [] }) => blobVersionedHashes)
    const blobs = await readBlobs(l1Url, quantityToNumber(block.number), hashes)
    return blobs.map((blob, index) => ({ blob, index, hash: hashes[index] ?? '' }))
  }
  const blobsAnswer = async (block: L1Block, query: URLSearchParams) => {
    const wanted = query.getAll('versioned_hashes').flatMap((text) => text.split(','))
    const all = await blobsOf(block)
    return all.filter(({ hash }) => wanted.length === 0 || wanted.includes(hash)).map(({ blob }) => toHex(blob))
  }
  const sidecarsAnswer = async (block: L1Block, query: URLSearchParams) => {
    const wanted = query.getAll('indices').flatMap((text) => text.split(','))
    const all = await blobsOf(block)
    const given = all.filter(({ index }) => wanted.length === 0 || wanted.includes(String(index)))
    const blobs = given.map(({ blob }) => blob)
    const commitments = await kzg.commitments(blobs)
    const proofs = await kzg.blobProofs(blobs, commitments)
    return given.map(({ blob, index }, at) => ({
      index: String(index),
      blob: toHex(blob),
      kzg_commitment: toHex(commitments[at] ?? new Uint8Array()),
      kzg_proof: toHex(proofs[at] ?? new Uint8Array()),
    }))
  }

  const answer = async (url: URL): Promise<object | undefined> => {
    const known: Record<string, object> = {
      '/eth/v1/node/version': { version: 'anvil' },
      '/eth/v1/beacon/genesis': { genesis_time: String(genesisTime) },
      '/eth/v1/config/spec': { SECONDS_PER_SLOT: '1' },
    }
    const [, kind, slot] = /^\/eth\/v1\/beacon\/(blobs|blob_sidecars)\/(\d+)$/.exec(url.pathname) ?? []
    if (kind === undefined) return known[url.pathname]
    const block = await blockOfSlot(Number(slot))
    if (block === undefined) return undefined
    return kind === 'blobs' ? blobsAnswer(block, url.searchParams) : sidecarsAnswer(block, url.searchParams)
  }
  const server = createServer((request, response) => {
    answer(new URL(request.url ?? '', 'http://localhost')).then(
      (data) => (data === undefined ? json(response, 404, { code: 404 }) : json(response, 200, { data })),
      (error) => json(response, 500, { code: 500, message: String(error) }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await kzg.close()
      await l1.close()
    },
  }
}
