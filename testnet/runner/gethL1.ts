import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { toHex } from '../../src/lib/hex.ts'
import { loadJwtSecret } from '../../src/lib/jwt.ts'
import type { Logger } from '../../src/lib/logger.ts'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import { writeWhole } from '../../src/lib/wholeFile.ts'
import type { BlockId } from '../../src/rollup/protocol/index.ts'
import { BeaconService, type BlobMode } from '../l1/beaconService.ts'
import { BlobStore } from '../l1/consensus/blobStore.ts'
import { ConsensusClient } from '../l1/consensus/consensusClient.ts'
import { L1Engine } from '../l1/consensus/engine.ts'
import { slotAt, slotsInAnEpoch } from '../l1/consensus/slots.ts'
import { batch, checkReceipts, MULTICALL3_ADDRESS } from '../l1/deploy.ts'
import { gethArguments, gethInitArguments } from '../l1/geth/arguments.ts'
import { readSystemContracts } from '../l1/geth/binary.ts'
import { gethChainConfig, gethGenesis, l1GenesisTime } from '../l1/geth/genesis.ts'
import type { ProcessSpec } from '../process/managedProcess.ts'
import type { ChainMaker } from './chain.ts'
import { type L1, L1_PROGRAM } from './l1.ts'
import { createOwnLogger } from './ownLog.ts'
import { waitForL1 } from './readiness.ts'
import { readJson } from './readJson.ts'
import type { RunningPrograms } from './runningPrograms.ts'
import type { TestnetSetup } from './setup.ts'

/** A go-ethereum, with a consensus client and a beacon API in the runner's process. */
export class GethL1 implements L1 {
  private readonly programs: RunningPrograms
  private readonly client: RpcClient
  private readonly setup: TestnetSetup
  private readonly binary: string
  private readonly logger: Logger
  private stopping = new AbortController()
  private consensus: ConsensusClient | undefined
  private engineRpc: RpcClient | undefined
  private readonly beacon = new BeaconService()
  private making: Promise<void> | undefined

  constructor(
    { programs, client }: { programs: RunningPrograms; client: RpcClient },
    setup: TestnetSetup,
    binary: string,
  ) {
    this.programs = programs
    this.client = client
    this.setup = setup
    this.binary = binary
    this.logger = createOwnLogger(setup.layout.log('consensus'))
  }

  async create(maker: ChainMaker, signal: AbortSignal): Promise<void> {
    const { layout, chain } = this.setup
    const [systemContracts, multicall3] = await Promise.all([readSystemContracts(this.binary), maker.multicall3Code()])
    makeDirectory(dirname(layout.l1Genesis))
    const genesis = gethGenesis(chain, [...systemContracts, [MULTICALL3_ADDRESS, toHex(multicall3)]])
    await writeFile(layout.l1Genesis, JSON.stringify(genesis))
    await this.start(signal)
  }

  async deploy(maker: ChainMaker, signal: AbortSignal): Promise<BlockId> {
    const consensus = await this.openConsensus()
    const steps = await maker.l1Steps()
    await batch(
      this.client,
      steps.map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] })),
    )
    // The timestamp of slot 1 is the rollup's genesis time.
    const first = AbortSignal.any([signal, this.stopping.signal])
    const { hash, number } = await consensus.makeFirstBlock(steps.length, first)
    checkReceipts(steps, await this.client.request('eth_getBlockReceipts', ['0x1']))
    this.making = consensus.run(this.stopping.signal)
    return { hash, number }
  }

  async resume(signal: AbortSignal): Promise<void> {
    const { layout, chain } = this.setup
    // A fork may have been added. The genesis block does not change.
    const genesis = { ...readJson(layout.l1Genesis), config: gethChainConfig(chain) }
    await writeWhole(layout.l1Genesis, JSON.stringify(genesis))
    await this.start(signal)
    this.making = (await this.openConsensus()).run(this.stopping.signal)
  }

  async stopBlocks(): Promise<void> {
    await this.consensus?.pause()
  }

  async startBlocks(): Promise<void> {
    this.consensus?.resume()
  }

  async reorg(): Promise<void> {
    throw new UsageError('reorg: an L1 that is go-ethereum cannot take blocks back; Anvil can')
  }

  async multiplyBaseFee(): Promise<bigint> {
    throw new UsageError('l1 fees: nobody can set the base fee of an L1 that is go-ethereum; that of Anvil can be set')
  }

  setBlobs(mode: BlobMode): void {
    this.beacon.mode = mode
  }

  async packedState(): Promise<Uint8Array> {
    throw new UsageError('export: an L1 that is go-ethereum runs beside this runner only; Anvil can be exported')
  }

  chainConfig(): Record<string, unknown> {
    return gethChainConfig(this.setup.chain)
  }

  async close(): Promise<void> {
    this.stopping.abort()
    await this.making
    await this.beacon.close()
    await this.engineRpc?.close()
    this.engineRpc = undefined
  }

  private async start(signal: AbortSignal): Promise<void> {
    const { layout, ports, host, chain } = this.setup
    loadJwtSecret(layout.l1Jwt, { create: true })
    const files = { dataDir: layout.l1DataDir, genesis: layout.l1Genesis, jwt: layout.l1Jwt }
    await this.programs.group.run(this.spec(gethInitArguments(files)))
    signal.throwIfAborted()
    this.programs.start(this.spec(gethArguments({ files, host, ports, chain })))
    await waitForL1(this.client, chain.l1ChainId, signal)
  }

  private async openConsensus(): Promise<ConsensusClient> {
    this.stopping = new AbortController()
    const { layout, ports, host, chain } = this.setup
    const { logger } = this
    const blobs = new BlobStore(layout.l1Blobs)
    const times = {
      genesisTime: l1GenesisTime(chain),
      secondsPerSlot: chain.l1BlockTime,
      slotsPerEpoch: slotsInAnEpoch(chain.l1BlockTime),
    }
    this.engineRpc = createRpcClient({
      url: `http://127.0.0.1:${ports.l1Engine}`,
      jwtSecret: loadJwtSecret(layout.l1Jwt, { create: false }),
    })
    const engine = new L1Engine(this.engineRpc, { amsterdamTime: chain.l1?.amsterdamTime })
    const headSlot = async () => slotAt(times, (await engine.block('latest', {})).timestamp)
    await this.beacon.open(
      { blobs, headSlot, logger },
      { ...times, chainId: chain.l1ChainId },
      { host, port: ports.beacon },
    )
    this.consensus = new ConsensusClient({ engine, blobs, clock: systemClock, logger }, times)
    return this.consensus
  }

  private spec(args: string[]): ProcessSpec {
    const logPath = this.setup.layout.log(L1_PROGRAM)
    return { name: L1_PROGRAM, savesOnInterrupt: true, command: { binary: this.binary }, args, logPath }
  }
}
