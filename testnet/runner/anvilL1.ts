import { rmSync } from 'node:fs'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { fromHex, toQuantity } from '../../src/lib/hex.ts'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'
import type { BlockId } from '../../src/rollup/protocol/index.ts'
import { anvilArguments, findAnvil, loadTrustedSetup, takeNewestState } from '../l1/anvil.ts'
import { readAnvilBlobs } from '../l1/anvilBlobs.ts'
import { BeaconService, type BlobMode } from '../l1/beaconService.ts'
import { l1ChainConfig } from '../l1/chainConfig.ts'
import { slotAt, slotsInAnEpoch } from '../l1/consensus/slots.ts'
import { deployContracts } from '../l1/deploy.ts'
import { readL1Block } from '../l1/rpc.ts'
import type { ProcessSpec } from '../process/managedProcess.ts'
import type { ChainMaker } from './chain.ts'
import { type L1, L1_PROGRAM } from './l1.ts'
import { createOwnLogger } from './ownLog.ts'
import { waitForL1 } from './readiness.ts'
import type { RunningPrograms } from './runningPrograms.ts'
import type { TestnetSetup } from './setup.ts'

/** Slot length of the beacon API. Anvil's blocks are at least this far apart. */
const SECONDS_PER_SLOT = 1

/** An Anvil of the npm package. It mines by itself and keeps its blobs. */
export class AnvilL1 implements L1 {
  private readonly programs: RunningPrograms
  private readonly client: RpcClient
  private readonly setup: TestnetSetup
  private readonly beacon = new BeaconService()

  constructor({ programs, client }: { programs: RunningPrograms; client: RpcClient }, setup: TestnetSetup) {
    this.programs = programs
    this.client = client
    this.setup = setup
  }

  async create(_: ChainMaker, signal: AbortSignal): Promise<void> {
    this.start()
    await this.prepared(signal)
  }

  async deploy(maker: ChainMaker): Promise<BlockId> {
    return deployContracts(this.client, await maker.l1Steps(), this.setup.chain, await maker.multicall3Code())
  }

  async resume(signal: AbortSignal): Promise<void> {
    this.start(this.kept())
    await this.prepared(signal)
  }

  async stopBlocks(): Promise<void> {
    await this.client.request('evm_setIntervalMining', [0])
  }

  async startBlocks(): Promise<void> {
    await this.client.request('evm_setIntervalMining', [this.setup.chain.l1BlockTime])
  }

  async reorg(depth: number): Promise<void> {
    await this.client.request('anvil_reorg', [depth, []])
  }

  async multiplyBaseFee(factor: number): Promise<bigint> {
    const { baseFeeWei } = await readL1Block(this.client)
    const baseFee = BigInt(Math.ceil(Number(baseFeeWei) * factor))
    await this.client.request('anvil_setNextBlockBaseFeePerGas', [toQuantity(baseFee)])
    return baseFee
  }

  setBlobs(mode: BlobMode): void {
    this.beacon.mode = mode
  }

  async packedState(): Promise<Uint8Array> {
    return fromHex(String(await this.client.request('anvil_dumpState', [])))
  }

  chainConfig(): Record<string, unknown> {
    return l1ChainConfig(this.setup.chain.l1ChainId)
  }

  close(): Promise<void> {
    return this.beacon.close()
  }

  /** Loads KZG's trusted setup before other requests, because Anvil answers slowly while it loads. */
  private async prepared(signal: AbortSignal): Promise<void> {
    const { chain, da, layout, host, ports } = this.setup
    await waitForL1(this.client, chain.l1ChainId, signal)
    const { timestamp: genesisTime } = await readL1Block(this.client, '0x0')
    const times = { genesisTime, secondsPerSlot: SECONDS_PER_SLOT }
    const blobs = { read: (slot: number) => readAnvilBlobs(this.client, times, slot) }
    const headSlot = async () => slotAt(times, (await readL1Block(this.client)).timestamp)
    await this.beacon.open(
      { blobs, headSlot, logger: createOwnLogger(layout.log('beacon')) },
      { ...times, slotsPerEpoch: slotsInAnEpoch(chain.l1BlockTime), chainId: chain.l1ChainId },
      { host, port: ports.beacon },
    )
    if (da !== 'calldata') await loadTrustedSetup(this.client, signal)
  }

  /** Path of a state that Anvil has written. Throws if there is none. */
  private kept(): string {
    const { l1StateNew, l1State } = this.setup.layout
    if (!takeNewestState(l1StateNew, l1State)) {
      throw new DeviumError('l1-state', `${l1State} is missing: the L1 chain is lost`)
    }
    return l1State
  }

  private start(loadFrom?: string): void {
    // After a crash Anvil has lost what it had not written. L1 continues from its last state, as after a reorg.
    this.programs.start(this.spec(loadFrom), () => this.spec(this.kept()))
  }

  private spec(loadFrom: string | undefined): ProcessSpec {
    const { layout, ports, host, chain } = this.setup
    // Only the Anvil process that wrote the cache can use it.
    rmSync(layout.l1Cache, { recursive: true, force: true })
    makeDirectory(layout.l1Cache)
    const options = { host, port: ports.l1, chain, dumpTo: layout.l1StateNew, cacheDir: layout.l1Cache }
    return {
      name: L1_PROGRAM,
      savesOnInterrupt: true,
      command: { binary: findAnvil() },
      args: anvilArguments(loadFrom === undefined ? options : { ...options, loadFrom }),
      logPath: layout.log(L1_PROGRAM),
    }
  }
}
