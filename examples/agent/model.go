package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// message is one contribution to a talk.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A model continues a talk.
type model interface {
	next(ctx context.Context, talk []message) (string, error)
}

// script is a model that always does the same: it looks, makes a mistake, mends it, and answers with what it saw.
type script struct{ step int }

func (s *script) next(_ context.Context, talk []message) (string, error) {
	s.step++
	switch s.step {
	case 1:
		return "```python\nimport pandas as pd\nsales = pd.read_csv('sales.csv')\nprint(list(sales.columns))\n```", nil
	case 2:
		return "```python\nbest = sales.groupby('territory')['revenue'].sum()\n```", nil
	case 3:
		return "There is no such column.\n```python\nbest = sales.groupby('region')['revenue'].sum()\nrate = tools.exchange_rate('USD', 'EUR')\n" +
			"print(best.idxmax(), round(best.max() * rate))\n```", nil
	}
	region, euros, _ := strings.Cut(talk[len(talk)-1].Content, " ")
	return fmt.Sprintf("%s sold most: %s euros.", region, euros), nil
}

// chat is a model behind a chat completions API.
type chat struct{ url, name, key string }

// maxReply bounds what the API may answer, in bytes.
const maxReply = 1 << 20

func (c *chat) next(ctx context.Context, talk []message) (string, error) {
	body, err := json.Marshal(map[string]any{"model": c.name, "messages": talk})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the model's API answers %s: %.500s", res.Status, text)
	}
	var reply struct {
		Choices []struct{ Message message }
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return "", fmt.Errorf("the model's API: %w", err)
	}
	if len(reply.Choices) == 0 {
		return "", errors.New("the model's API answers with no choice")
	}
	return reply.Choices[0].Message.Content, nil
}
