package limits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// ChannelMode says what a program may do with a channel.
type ChannelMode string

// The modes of channels.
const (
	ChannelSend    ChannelMode = "send"
	ChannelReceive ChannelMode = "receive"
	ChannelBoth    ChannelMode = "both"
)

// Allows says whether a program with the mode may do what one with the other may.
func (m ChannelMode) Allows(other ChannelMode) bool { return m == other || m == ChannelBoth }

// Channel is a named channel of messages between programs.
type Channel struct {
	Name string
	Mode ChannelMode
	// Messages and Bytes are how much may wait in the channel; zero means DefaultChannelMessages and DefaultChannelBytes.
	Messages, Bytes uint64
}

// What a channel may hold unless it says otherwise, and at most.
const (
	DefaultChannelMessages = 100
	DefaultChannelBytes    = 1 << 20
	maxChannelMessages     = 100_000
	maxChannelBytes        = 64 << 20
	maxChannelName         = 48
)

// CheckChannel says whether a channel may have the name and the mode. The name becomes one in programs.
func CheckChannel(name string, mode ChannelMode) error {
	for i, c := range []byte(name) {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return fmt.Errorf("channel %q: a name is a letter followed by letters, digits and underscores", name)
		}
	}
	if name == "" || len(name) > maxChannelName {
		return fmt.Errorf("channel %q: a name has 1 to %d characters", name, maxChannelName)
	}
	if mode != ChannelSend && mode != ChannelReceive && mode != ChannelBoth {
		return fmt.Errorf("channel %s: mode %q is unknown: use send, receive or both", name, mode)
	}
	return nil
}

// mailbox reads [mailbox].
func (d *document) mailbox(v toml.Primitive) []Channel {
	var channels []Channel
	t := d.table("mailbox", v)
	for _, name := range d.order(t) {
		c := Channel{Name: name, Mode: ChannelBoth}
		where := "mailbox." + name
		keys := d.table(where, t[name])
		for _, key := range d.order(keys) {
			switch key {
			case "mode":
				mode, _ := d.text(where, key, keys[key])
				c.Mode = ChannelMode(mode)
			case "messages":
				c.Messages = d.number(where, key, keys[key], kindCount, 1, maxChannelMessages)
			case "bytes":
				c.Bytes = d.number(where, key, keys[key], kindSize, 1, maxChannelBytes)
			default:
				d.failf(keys[key], "unknown key %q in [%s]: there are mode, messages and bytes", key, where)
			}
		}
		if err := CheckChannel(c.Name, c.Mode); err != nil {
			d.failf(t[name], "%w", err)
		}
		channels = append(channels, c)
	}
	slices.SortFunc(channels, func(a, b Channel) int { return strings.Compare(a.Name, b.Name) })
	return channels
}
