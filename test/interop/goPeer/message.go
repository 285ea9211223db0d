package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/big"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/golang/snappy"
	"golang.org/x/crypto/sha3"
)

const (
	maxMessageBytes = 10 << 20
	signatureBytes  = 65
)

func keccak(parts ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// unpack decompresses a gossip message, within its bound.
func unpack(data []byte) ([]byte, error) {
	size, err := snappy.DecodedLen(data)
	if err != nil {
		return nil, err
	}
	if size > maxMessageBytes {
		return nil, errors.New("too large")
	}
	return snappy.Decode(nil, data)
}

// messageID is the first 20 bytes of SHA-256 of domain, topic (length and text) and content.
func messageID(topic string, data []byte) string {
	domain := []byte{0, 0, 0, 0}
	if unpacked, err := unpack(data); err == nil {
		domain[0], data = 1, unpacked
	}
	h := sha256.New()
	h.Write(domain)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(topic))))
	h.Write([]byte(topic))
	h.Write(data)
	return string(h.Sum(nil)[:20])
}

// signingHash is keccak256(domain 0, chain id, keccak256(body)).
func signingHash(chainID uint64, body []byte) []byte {
	return keccak(make([]byte, 32), new(big.Int).SetUint64(chainID).FillBytes(make([]byte, 32)), keccak(body))
}

// sealMessage signs a body and compresses both.
func sealMessage(chainID uint64, body, key []byte, spoil string) []byte {
	// Recovery byte first, as 27 plus the parity, in this library's form.
	compact := ecdsa.SignCompact(secp256k1.PrivKeyFromBytes(key), signingHash(chainID, body), false)
	signature := append(append([]byte{}, compact[1:]...), compact[0]-27)
	switch spoil {
	case "recovery":
		signature[64] += 27
	case "r":
		signature[0] ^= 0xff
	}
	return snappy.Encode(nil, append(signature, body...))
}

// openedMessage is what a gossip message says and who says so.
type openedMessage struct {
	signer   []byte
	envelope *envelope
}

func openMessage(chainID uint64, version int, data []byte) (*openedMessage, error) {
	unpacked, err := unpack(data)
	if err != nil {
		return nil, err
	}
	if len(unpacked) <= signatureBytes || unpacked[64] > 1 {
		return nil, errors.New("no signature")
	}
	body := unpacked[signatureBytes:]
	compact := append([]byte{unpacked[64] + 27}, unpacked[:64]...)
	key, _, err := ecdsa.RecoverCompact(compact, signingHash(chainID, body))
	if err != nil {
		return nil, err
	}
	block, err := decodeEnvelope(body, version)
	if err != nil {
		return nil, err
	}
	return &openedMessage{signer: keccak(key.SerializeUncompressed()[1:])[12:], envelope: block}, nil
}
