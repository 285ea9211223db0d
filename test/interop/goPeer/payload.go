package main

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// payloadVersions is the number of containers, each with a topic of its own.
const payloadVersions = 4

// fixedBytes is the size of each container's fixed part (specs: rollup-node-p2p, and the Engine API's SSZ form).
var fixedBytes = [payloadVersions + 1]uint32{0, 508, 512, 528, 560}

// hexBytes is JSON text of hex digits with 0x.
type hexBytes []byte

func (b hexBytes) MarshalJSON() ([]byte, error) { return json.Marshal("0x" + hex.EncodeToString(b)) }

func (b *hexBytes) UnmarshalJSON(text []byte) error {
	var digits string
	if err := json.Unmarshal(text, &digits); err != nil {
		return err
	}
	decoded, err := hex.DecodeString(strings.TrimPrefix(digits, "0x"))
	*b = decoded
	return err
}

// quantity is a JSON-RPC quantity.
type quantity uint64

func (q quantity) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprintf("0x%x", uint64(q))) }

func (q *quantity) UnmarshalJSON(text []byte) error {
	var digits string
	if err := json.Unmarshal(text, &digits); err != nil {
		return err
	}
	value, err := strconv.ParseUint(digits, 0, 64)
	*q = quantity(value)
	return err
}

type bigQuantity struct{ big.Int }

func (q *bigQuantity) MarshalJSON() ([]byte, error) { return json.Marshal("0x" + q.Text(16)) }

func (q *bigQuantity) UnmarshalJSON(text []byte) error {
	var digits string
	if err := json.Unmarshal(text, &digits); err != nil {
		return err
	}
	if _, ok := q.SetString(digits, 0); !ok || q.Sign() < 0 || q.BitLen() > 256 {
		return fmt.Errorf("bad quantity %q", digits)
	}
	return nil
}

// payload is the Engine API's ExecutionPayload with the OP Stack's withdrawalsRoot.
type payload struct {
	ParentHash      hexBytes     `json:"parentHash"`
	FeeRecipient    hexBytes     `json:"feeRecipient"`
	StateRoot       hexBytes     `json:"stateRoot"`
	ReceiptsRoot    hexBytes     `json:"receiptsRoot"`
	LogsBloom       hexBytes     `json:"logsBloom"`
	PrevRandao      hexBytes     `json:"prevRandao"`
	BlockNumber     quantity     `json:"blockNumber"`
	GasLimit        quantity     `json:"gasLimit"`
	GasUsed         quantity     `json:"gasUsed"`
	Timestamp       quantity     `json:"timestamp"`
	ExtraData       hexBytes     `json:"extraData"`
	BaseFeePerGas   *bigQuantity `json:"baseFeePerGas"`
	BlockHash       hexBytes     `json:"blockHash"`
	Transactions    []hexBytes   `json:"transactions"`
	Withdrawals     []withdrawal `json:"withdrawals,omitzero"`
	BlobGasUsed     *quantity    `json:"blobGasUsed,omitempty"`
	ExcessBlobGas   *quantity    `json:"excessBlobGas,omitempty"`
	WithdrawalsRoot hexBytes     `json:"withdrawalsRoot,omitzero"`
}

type withdrawal struct {
	Index     quantity `json:"index"`
	Validator quantity `json:"validatorIndex"`
	Address   hexBytes `json:"address"`
	Amount    quantity `json:"amount"`
}

type envelope struct {
	ParentBeaconBlockRoot hexBytes `json:"parentBeaconBlockRoot,omitzero"`
	Payload               payload  `json:"payload"`
}

// version follows from the members that a block has.
func (e *envelope) version() int {
	switch p := &e.Payload; {
	case p.WithdrawalsRoot != nil:
		return 4
	case p.BlobGasUsed != nil:
		return 3
	case p.Withdrawals != nil:
		return 2
	default:
		return 1
	}
}

func orZero(q *quantity) uint64 {
	if q == nil {
		return 0
	}
	return uint64(*q)
}

// encode writes the SSZ container of a version, after the beacon root where it has one.
func (e *envelope) encode(version int) ([]byte, error) {
	p := &e.Payload
	var out []byte
	fixed := func(b []byte, size int) {
		out = append(out, make([]byte, max(0, size-len(b)))...)
		out = append(out, b...)
	}
	number := func(n uint64) { out = binary.LittleEndian.AppendUint64(out, n) }
	offset := func(n int) { out = binary.LittleEndian.AppendUint32(out, uint32(n)) }
	if version >= 3 {
		fixed(e.ParentBeaconBlockRoot, 32)
	}
	start := len(out)

	var transactions []byte
	at := 4 * len(p.Transactions)
	for _, tx := range p.Transactions {
		transactions = binary.LittleEndian.AppendUint32(transactions, uint32(at))
		at += len(tx)
	}
	for _, tx := range p.Transactions {
		transactions = append(transactions, tx...)
	}
	extraAt := int(fixedBytes[version])
	transactionsAt := extraAt + len(p.ExtraData)

	fixed(p.ParentHash, 32)
	fixed(p.FeeRecipient, 20)
	fixed(p.StateRoot, 32)
	fixed(p.ReceiptsRoot, 32)
	fixed(p.LogsBloom, 256)
	fixed(p.PrevRandao, 32)
	number(uint64(p.BlockNumber))
	number(uint64(p.GasLimit))
	number(uint64(p.GasUsed))
	number(uint64(p.Timestamp))
	offset(extraAt)
	fee := p.BaseFeePerGas.FillBytes(make([]byte, 32))
	for i := len(fee) - 1; i >= 0; i-- {
		out = append(out, fee[i])
	}
	fixed(p.BlockHash, 32)
	offset(transactionsAt)
	if version >= 2 {
		offset(transactionsAt + len(transactions))
	}
	if version >= 3 {
		number(orZero(p.BlobGasUsed))
		number(orZero(p.ExcessBlobGas))
	}
	if version >= 4 {
		fixed(p.WithdrawalsRoot, 32)
	}
	if len(out)-start != extraAt {
		return nil, fmt.Errorf("a member is too long: fixed part of %d bytes", len(out)-start)
	}
	out = append(out, p.ExtraData...)
	out = append(out, transactions...)
	if version >= 2 {
		for _, w := range p.Withdrawals {
			number(uint64(w.Index))
			number(uint64(w.Validator))
			fixed(w.Address, 20)
			number(uint64(w.Amount))
		}
	}
	return out, nil
}

// decodeEnvelope reads what encode writes.
func decodeEnvelope(body []byte, version int) (*envelope, error) {
	if version < 1 || version > payloadVersions {
		return nil, errors.New("version is not 1 to 4")
	}
	e := &envelope{}
	if version >= 3 {
		if len(body) < 32 {
			return nil, errors.New("no beacon root")
		}
		e.ParentBeaconBlockRoot, body = body[:32], body[32:]
	}
	if uint64(len(body)) < uint64(fixedBytes[version]) {
		return nil, fmt.Errorf("%d bytes", len(body))
	}
	rest := body
	take := func(n int) (b []byte) { b, rest = rest[:n], rest[n:]; return b }
	number := func() quantity { return quantity(binary.LittleEndian.Uint64(take(8))) }
	offset := func() int { return int(binary.LittleEndian.Uint32(take(4))) }
	p := &e.Payload
	p.ParentHash, p.FeeRecipient, p.StateRoot, p.ReceiptsRoot = take(32), take(20), take(32), take(32)
	p.LogsBloom, p.PrevRandao = take(256), take(32)
	p.BlockNumber, p.GasLimit, p.GasUsed, p.Timestamp = number(), number(), number(), number()
	extraAt := offset()
	little := take(32)
	fee := make([]byte, 32)
	for i := range fee {
		fee[31-i] = little[i]
	}
	p.BaseFeePerGas = &bigQuantity{}
	p.BaseFeePerGas.SetBytes(fee)
	p.BlockHash = take(32)
	transactionsAt := offset()
	withdrawalsAt := len(body)
	if version >= 2 {
		withdrawalsAt = offset()
	}
	if version >= 3 {
		used, excess := number(), number()
		p.BlobGasUsed, p.ExcessBlobGas = &used, &excess
	}
	if version >= 4 {
		p.WithdrawalsRoot = take(32)
	}
	if extraAt != int(fixedBytes[version]) || transactionsAt < extraAt || transactionsAt > extraAt+32 ||
		withdrawalsAt < transactionsAt || withdrawalsAt > len(body) {
		return nil, errors.New("bad offset")
	}
	p.ExtraData = body[extraAt:transactionsAt]
	if version >= 2 {
		if withdrawalsAt != len(body) {
			return nil, errors.New("withdrawals")
		}
		p.Withdrawals = []withdrawal{}
	}
	var err error
	p.Transactions, err = decodeTransactions(body[transactionsAt:withdrawalsAt])
	return e, err
}

func decodeTransactions(list []byte) ([]hexBytes, error) {
	transactions := []hexBytes{}
	if len(list) == 0 {
		return transactions, nil
	}
	if len(list) < 4 {
		return nil, errors.New("transactions: cut off")
	}
	first := binary.LittleEndian.Uint32(list)
	if first == 0 || first%4 != 0 || uint64(first) > uint64(len(list)) {
		return nil, errors.New("transactions: bad first offset")
	}
	from := first
	for i := uint32(1); i <= first/4; i++ {
		to := uint32(len(list))
		if i < first/4 {
			to = binary.LittleEndian.Uint32(list[4*i:])
		}
		if to < from || uint64(to) > uint64(len(list)) {
			return nil, errors.New("transactions: bad offset")
		}
		transactions = append(transactions, list[from:to])
		from = to
	}
	return transactions, nil
}
